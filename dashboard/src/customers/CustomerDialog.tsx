import { useMutation, useQueryClient } from "@tanstack/react-query";
import { Link, useNavigate } from "@tanstack/react-router";
import { useState } from "react";
import { answer, client } from "../api/client.ts";
import type { Customer } from "../api/shapes.ts";
import { differing } from "../controls/differing.ts";
import { TextField } from "../controls/Field.tsx";
import { EditDialog, FormDialog, unlessThere } from "../controls/FormDialog.tsx";
import { type CustomerDraft, CustomerFields } from "./CustomerFields.tsx";
import { isUid, uidInput, uidRule } from "./customerQueries.ts";
import { metadataOf, metadataProblem, metadataText } from "./metadataText.ts";

/** Creates a customer, and opens its page. */
export function NewCustomer({ onClose }: { onClose: () => void }) {
  const [uid, setUid] = useState("");
  const [draft, setDraft] = useState<CustomerDraft>({ name: "", metadata: "" });
  const navigate = useNavigate();
  const queries = useQueryClient();
  const make = useMutation({
    mutationFn: () =>
      unlessThere(
        () => getCustomer(uid),
        () => putCustomer(uid, draft),
      ),
    onSuccess: (customer) => {
      if (customer === undefined) return;
      void queries.invalidateQueries({ queryKey: ["customers"] });
    },
  });
  const open = (customer: Customer | undefined): void => {
    if (customer === undefined) return;
    onClose();
    void navigate({ to: "/customers/$uid", params: { uid }, search: {} });
  };
  const isTaken = make.isSuccess && make.data === undefined;
  // URLs treat `.` and `..` as path steps, so no path can hold these uids.
  const isPossible = isUid(uid) && uid !== "." && uid !== "..";
  const isReady = isPossible && metadataProblem(draft.metadata) === undefined;
  return (
    <FormDialog
      title="New customer"
      onClose={onClose}
      action="Create customer"
      doing={make}
      isReady={isReady}
      onSubmit={() => make.mutate(undefined, { onSuccess: open })}
    >
      <TextField
        label="Uid"
        required
        {...uidInput}
        hint={`Your own id for the customer; cannot be changed later: ${uidRule}`}
        error={
          uid !== "" && !isPossible
            ? `${uidRule}; . and .. are not allowed`
            : isTaken
              ? "A customer with this uid exists already"
              : undefined
        }
        value={uid}
        onChange={(event) => {
          setUid(event.target.value);
          make.reset();
        }}
      />
      {isTaken && (
        <p>
          <Link to="/customers/$uid" params={{ uid }} search={{}} className="text-accent underline">
            Open it
          </Link>
        </p>
      )}
      <CustomerFields draft={draft} onChange={setDraft} />
    </FormDialog>
  );
}

/** @throws {Problem} */
async function getCustomer(uid: string): Promise<Customer> {
  return answer(client.GET("/api/v1/customers/{uid}", { params: { path: { uid } } }));
}

/** @throws {Problem} */
async function putCustomer(uid: string, { name, metadata }: CustomerDraft): Promise<Customer> {
  const body = { name: name.trim(), metadata: metadataOf(metadata) };
  return answer(client.PUT("/api/v1/customers/{uid}", { params: { path: { uid } }, body }));
}

function draftOf({ name, metadata }: Customer): CustomerDraft {
  return { name, metadata: metadataText(metadata) };
}

/**
 * Edits a customer's name and metadata. Only fields that were changed here are overwritten: other users may have changed the
 * rest meanwhile.
 */
export function EditCustomer({ customer, onClose }: { customer: Customer; onClose: () => void }) {
  const [opened] = useState(() => draftOf(customer));
  const [draft, setDraft] = useState(opened);
  const queries = useQueryClient();
  const save = useMutation({
    mutationFn: async () => {
      const current = draftOf(await getCustomer(customer.uid));
      return putCustomer(customer.uid, { ...current, ...differing(draft, opened) });
    },
    onSuccess: (saved) => {
      queries.setQueryData(["customers", "one", customer.uid], saved);
      void queries.invalidateQueries({ queryKey: ["customers"] });
    },
  });
  return (
    <EditDialog
      title={`Edit ${customer.uid}`}
      onClose={onClose}
      doing={save}
      isReady={metadataProblem(draft.metadata) === undefined}
    >
      <CustomerFields draft={draft} onChange={setDraft} />
    </EditDialog>
  );
}
