import { useMutation, useQueryClient } from "@tanstack/react-query";
import { answer, client } from "../api/client.ts";
import type { Target, TargetChanges } from "../api/shapes.ts";

/** Changes a target, and updates all cached queries of targets. */
export function useTargetChange(id: string) {
  const queries = useQueryClient();
  return useMutation({
    mutationFn: (changes: TargetChanges) => changeTarget(id, changes),
    onSuccess: (target) => {
      queries.setQueryData(["targets", id], target);
      void queries.invalidateQueries({ queryKey: ["targets"] });
      void queries.invalidateQueries({ queryKey: ["health"] });
    },
  });
}

/** @throws {Problem} */
async function changeTarget(id: string, changes: TargetChanges): Promise<Target> {
  return answer(client.PATCH("/api/v1/targets/{id}", { params: { path: { id } }, body: changes }));
}

/**
 * Enables or disables several targets. The list shows the change before the service has made it, and takes it back after an
 * error.
 */
export function useEnabling() {
  const queries = useQueryClient();
  return useMutation({
    mutationFn: async ({ ids, enabled }: { ids: readonly string[]; enabled: boolean }) =>
      Promise.all(ids.map((id) => changeTarget(id, { enabled }))),
    onMutate: async ({ ids, enabled }) => {
      await queries.cancelQueries({ queryKey: ["targets"] });
      const before = queries.getQueryData<Target[]>(["targets"]);
      queries.setQueryData<Target[]>(["targets"], (list) =>
        list?.map((target) => (ids.includes(target.id) ? { ...target, enabled } : target)),
      );
      return { before };
    },
    onError: (_error, _input, context) => queries.setQueryData(["targets"], context?.before),
    onSettled: () => {
      void queries.invalidateQueries({ queryKey: ["targets"] });
      void queries.invalidateQueries({ queryKey: ["health"] });
    },
  });
}
