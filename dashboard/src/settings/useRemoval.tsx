import { type QueryKey, useMutation, useQueryClient } from "@tanstack/react-query";
import { Confirm, type ConfirmProps } from "../controls/FormDialog.tsx";
import { toast } from "../controls/toasts.ts";

interface Removal {
  /** The query key of the list. */
  queryKey: QueryKey;
  remove: () => Promise<unknown>;
  /** The message after success. */
  told: string;
}

/** Removes an entry of a list, shows a message, and reads the list again. */
export function useRemoval({ queryKey, remove, told }: Removal) {
  const queries = useQueryClient();
  return useMutation({
    mutationFn: remove,
    onSuccess: () => toast({ text: told }),
    onSettled: () => void queries.invalidateQueries({ queryKey }),
  });
}

/** Asks before an entry of a list is removed. */
export function ConfirmRemoval({ removal, ...asked }: Omit<ConfirmProps, "doing"> & { removal: Removal }) {
  const doing = useRemoval(removal);
  return <Confirm {...asked} doing={doing} />;
}
