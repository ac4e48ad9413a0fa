import { useMutation, useQueryClient } from "@tanstack/react-query";
import { useNavigate } from "@tanstack/react-router";
import { sentenceOf } from "../api/problem.ts";
import { toast } from "../controls/toasts.ts";
import { replayItem } from "./replayItems.ts";

/** Replays one item at once, and offers to follow what came of it. */
export function useReplay() {
  const navigate = useNavigate();
  const queries = useQueryClient();
  return useMutation({
    mutationFn: replayItem,
    onSuccess: (id) => {
      void queries.invalidateQueries({ queryKey: ["items"] });
      toast({
        text: "Replayed as a new item.",
        action: {
          name: "Follow",
          run: () => void navigate({ to: "/items/$id", params: { id }, search: {} }),
        },
      });
    },
    onError: (error) => toast({ text: sentenceOf(error) }),
  });
}
