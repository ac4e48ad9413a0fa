import { useMutation, useQueryClient } from "@tanstack/react-query";
import { useNavigate } from "@tanstack/react-router";
import { sentenceOf } from "../api/problem.ts";
import { useMay } from "../api/role.ts";
import { toast } from "../controls/toasts.ts";
import { replayItem } from "./replayItems.ts";

/** Replays one item at once, and offers to follow what came of it; who may not replay is told so. */
export function useReplay() {
  const mayReplay = useMay("member");
  const navigate = useNavigate();
  const queries = useQueryClient();
  const replay = useMutation({
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
  return {
    isPending: replay.isPending,
    mutate(id: string) {
      if (mayReplay) replay.mutate(id);
      else toast({ text: "Your role does not allow replays; an admin of the organization can change it." });
    },
  };
}
