import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { useNavigate } from "@tanstack/react-router";
import { useState } from "react";
import { answer, client } from "../api/client.ts";
import type { Customer } from "../api/shapes.ts";
import { Button } from "../controls/Button.tsx";
import { Confirm, DeletionCard } from "../controls/FormDialog.tsx";
import { toast } from "../controls/toasts.ts";
import { useIsShown } from "../shell/useIsShown.ts";
import { listCustomerTargets } from "./customerQueries.ts";

/** Largest number of targets that is counted. */
const mostCounted = 1000;

/** Deletes a customer with its targets; the user types the uid to confirm. */
export function DeleteCustomer({ customer }: { customer: Customer }) {
  const [asks, setAsks] = useState(false);
  const isShown = useIsShown();
  return (
    <DeletionCard consequence="Its targets are deleted with it. Past deliveries are kept.">
      <Button look="danger" onClick={() => setAsks(true)}>
        Delete this customer…
      </Button>
      {asks && <ConfirmDeletion uid={customer.uid} isPageShown={isShown} onClose={() => setAsks(false)} />}
    </DeletionCard>
  );
}

interface ConfirmDeletionProps {
  uid: string;
  isPageShown: () => boolean;
  onClose: () => void;
}

function ConfirmDeletion({ uid, isPageShown, onClose }: ConfirmDeletionProps) {
  const navigate = useNavigate();
  const queries = useQueryClient();
  const count = useQuery({
    queryKey: ["targets", "countOfCustomer", uid],
    queryFn: async ({ signal }) => (await listCustomerTargets(uid, { limit: mostCounted, signal })).length,
    staleTime: 0,
  });
  const remove = useMutation({
    mutationFn: () => answer(client.DELETE("/api/v1/customers/{uid}", { params: { path: { uid } } })),
    onSuccess: ({ deleted_targets: targets }) => {
      toast({ text: `${uid} was deleted, with ${counted(targets)}.` });
      for (const list of ["list", "proposed"])
        void queries.invalidateQueries({ queryKey: ["customers", list] });
      void queries.invalidateQueries({ queryKey: ["targets"], exact: true });
      if (isPageShown()) void navigate({ to: "/customers", search: {} });
    },
  });
  return (
    <Confirm
      title={`Delete ${uid}?`}
      onClose={onClose}
      action="Delete"
      typed={uid}
      doing={{
        ...remove,
        isPending: remove.isPending || count.isFetching,
        error: remove.error ?? count.error,
      }}
      mayConfirm={count.data !== undefined}
    >
      <p role="status">
        {count.isError
          ? "Its targets could not be counted. Close the dialog and try again."
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
