import { type QueryKey, useMutation, useQueryClient } from "@tanstack/react-query";
import { toast } from "../controls/toasts.ts";

export interface Removal {
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
