import { useMutation, useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import { answer, client } from "../api/client.ts";
import { TextField } from "../controls/Field.tsx";
import { FormDialog } from "../controls/FormDialog.tsx";
import { Modal } from "../controls/Modal.tsx";
import { ShownOnce } from "../controls/ShownOnce.tsx";
import { isWhole, ScopeFields, scopeFields, unlimited } from "./KeyScope.tsx";

/** Creates a key and shows it once. The dialog closes only after the user has copied the key or ticked that it is saved. */
export function NewKey({ onClose }: { onClose: () => void }) {
  const queries = useQueryClient();
  const [name, setName] = useState("");
  const [scope, setScope] = useState(unlimited);
  const create = useMutation({
    mutationFn: () =>
      answer(client.POST("/api/v1/keys", { body: { name: name.trim(), ...scopeFields(scope) } })),
    // Also after an error: a key whose answer was lost is in the list.
    onSettled: () => void queries.invalidateQueries({ queryKey: ["keys"] }),
  });
  const made = create.data;
  if (made !== undefined) return <ShownKey name={made.name} value={made.key} onClose={onClose} />;
  return (
    <FormDialog
      title="New API key"
      onClose={onClose}
      action="Create key"
      doing={create}
      secret="key"
      isReady={name.trim() !== "" && isWhole(scope)}
      onSubmit={() => create.mutate()}
    >
      <TextField
        label="Name"
        required
        maxLength={256}
        hint="The program that uses it; claims in mailboxes show this name"
        value={name}
        onChange={(event) => setName(event.target.value)}
      />
      <ScopeFields draft={scope} onChange={setScope} />
    </FormDialog>
  );
}

function ShownKey({ name, value, onClose }: { name: string; value: string; onClose: () => void }) {
  return (
    <Modal title={`${name}: the key, shown only once`} open onClose={onClose} dismissible={false}>
      <p>It cannot be shown again. Copy it, or confirm that you saved it.</p>
      <ShownOnce secret={value} action="Done" onDone={onClose} />
    </Modal>
  );
}
