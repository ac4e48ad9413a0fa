import { type QueryKey, useMutation, useQueryClient } from "@tanstack/react-query";
import { toast } from "../controls/toasts.ts";

export interface Removal {
  /** The props of its list. */
  queryKey: QueryKey;
  remove: () => Promise<unknown>;
  /** The message after success. */
  told: string;
}

/** Takes away what a list shows, says so, and has the list read again. */
export function useRemoval({ queryKey, remove, told }: Removal) {
  const queries = useQueryClient();
  return useMutation({
    mutationFn: remove,
    onSuccess: () => toast({ text: told }),
    onSettled: () => void queries.invalidateQueries({ queryKey }),
  });
}
