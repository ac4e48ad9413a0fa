import { useMutation, useQueryClient } from "@tanstack/react-query";
import { sentenceOf } from "../api/problem.ts";
import { Button } from "../controls/Button.tsx";
import { For } from "../controls/For.tsx";
import { toast } from "../controls/toasts.ts";
import { ReplayAllMatching } from "../replays/ReplayAllMatching.tsx";
import type { ItemFilter } from "./filter.ts";
import { replayItems } from "./replayItems.ts";
import type { useSelection } from "./useSelection.ts";

interface SelectionBarProps {
  selection: ReturnType<typeof useSelection>;
  filter: ItemFilter;
  /** The rows that are loaded. */
  pageIds: readonly string[];
}

/** What to do with the selected rows; selecting all of them offers everything that matches, as a second step. */
export function SelectionBar({ selection, filter, pageIds }: SelectionBarProps) {
  const replay = useReplaySelected(selection.clear);
  const count = selection.selected.size;
  if (count === 0) return null;
  const hasAll = count === pageIds.length;
  return (
    <div className="sticky top-13 z-20 flex flex-wrap items-center gap-2 border-b bg-surface px-3 py-2">
      <span className="figures font-medium">{count} selected</span>
      <Button onClick={selection.selectAll} disabled={hasAll}>
        Select all {pageIds.length} shown
      </Button>
      <For least="member">
        {hasAll && <ReplayAllMatching filter={filter} />}
        <Button look="primary" busy={replay.isPending} onClick={() => replay.mutate([...selection.selected])}>
          Replay {count}
        </Button>
      </For>
      <Button look="quiet" onClick={selection.clear}>
        Clear
      </Button>
    </div>
  );
}

function useReplaySelected(onDone: () => void) {
  const queries = useQueryClient();
  return useMutation({
    mutationFn: replayItems,
    onSuccess: ({ replayed, failures }) => {
      void queries.invalidateQueries({ queryKey: ["items"] });
      const refused =
        failures.length === 0 ? "" : ` ${failures.length} were refused: ${sentenceOf(failures[0])}`;
      toast({ text: `${replayed} replayed as new items.${refused}` });
      onDone();
    },
  });
}
