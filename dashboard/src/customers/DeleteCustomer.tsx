import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { useNavigate } from "@tanstack/react-router";
import { useState } from "react";
import { answer, client } from "../api/client.ts";
import type { Customer } from "../api/shapes.ts";
import { Button } from "../controls/Button.tsx";
import { afterCount, Confirm, type ConfirmProps, DeletionCard } from "../controls/FormDialog.tsx";
import { toast } from "../controls/toasts.ts";
import { listCustomerTargets } from "./customerQueries.ts";

/** Largest number of targets that is counted. */
const mostCounted = 1000;

/** Deletes a customer with its targets; the user types the uid to confirm. */
export function DeleteCustomer({ customer }: { customer: Customer }) {
  const [asks, setAsks] = useState(false);
  const { uid } = customer;
  const navigate = useNavigate();
  const queries = useQueryClient();
  const remove = useMutation({
    mutationFn: () => answer(client.DELETE("/api/v1/customers/{uid}", { params: { path: { uid } } })),
    onSuccess: ({ deleted_targets: targets }) => {
      toast({ text: `${uid} was deleted, with ${counted(targets)}.` });
      for (const list of ["list", "proposed"])
        void queries.invalidateQueries({ queryKey: ["customers", list] });
      void queries.invalidateQueries({ queryKey: ["targets"], exact: true });
    },
  });
  return (
    <DeletionCard consequence="Its targets are deleted with it. Past deliveries are kept.">
      <Button look="danger" onClick={() => setAsks(true)}>
        Delete this customer…
      </Button>
      {asks && (
        <ConfirmDeletion
          uid={uid}
          doing={remove}
          onDone={() => void navigate({ to: "/customers", search: {} })}
          onClose={() => setAsks(false)}
        />
      )}
    </DeletionCard>
  );
}

interface ConfirmDeletionProps extends Pick<ConfirmProps, "doing" | "onDone" | "onClose"> {
  uid: string;
}

function ConfirmDeletion({ uid, doing, ...rest }: ConfirmDeletionProps) {
  const count = useQuery({
    queryKey: ["targets", "countOfCustomer", uid],
    queryFn: async ({ signal }) => (await listCustomerTargets(uid, { limit: mostCounted, signal })).length,
    staleTime: 0,
  });
  return (
    <Confirm
      title={`Delete ${uid}?`}
      {...rest}
      action="Delete"
      typed={uid}
      doing={afterCount(doing, count)}
      mayConfirm={count.data !== undefined}
    >
      <p role="status">
        {count.isError
          ? "Its targets could not be counted."
          : count.data === undefined
            ? "Counting…"
            : warning(count.data)}
      </p>
    </Confirm>
  );
}

function counted(targets: number): string {
  return targets === 0 ? "no target" : targets === 1 ? "1 target" : `${targets.toLocaleString("en")} targets`;
}

function warning(targets: number): string {
  if (targets === 0) return "No target belongs to it. This cannot be undone.";
  if (targets === 1)
    return "1 target is deleted with it. Queued items become CANCELED, and posting to it is refused from then on. This cannot be undone.";
  const many = `${counted(targets)}${targets < mostCounted ? "" : " or more"}`;
  return `${many} are deleted with it. Queued items become CANCELED, and posting to them is refused from then on. This cannot be undone.`;
}
