import { useMutation, useQueryClient } from "@tanstack/react-query";
import { sentenceOf } from "../api/problem.ts";
import { Button } from "../controls/Button.tsx";
import { ConfirmButton } from "../controls/FormDialog.tsx";
import { For } from "../controls/For.tsx";
import { toast } from "../controls/toasts.ts";
import { ReplayAllMatching } from "../replays/ReplayAllMatching.tsx";
import type { ItemFilter } from "./filter.ts";
import type { ItemRow } from "./listItems.ts";
import { noteReplays, replayItems } from "./replayItems.ts";
import { doubt } from "./useReplay.tsx";
import type { useSelection } from "./useSelection.ts";

interface SelectionBarProps {
  selection: ReturnType<typeof useSelection>;
  filter: ItemFilter;
  /** The loaded rows. */
  rows: readonly ItemRow[];
}

/**
 * Actions on the selected rows. After all rows of a page are selected, a second step offers all items that match the filter.
 * Items that were delivered, acknowledged or replayed already are replayed only after a confirmation.
 */
export function SelectionBar({ selection, filter, rows }: SelectionBarProps) {
  const replay = useReplaySelected(selection.select);
  const count = selection.selected.size;
  if (count === 0) return null;
  const hasAll = count === rows.length;
  const open = rows
    .filter((row) => selection.selected.has(row.id) && doubt(row) === undefined)
    .map(({ id }) => id);
  return (
    <div className="sticky top-13 z-20 flex flex-wrap items-center gap-2 border-b bg-surface px-3 py-2">
      <span className="figures font-medium">{count} selected</span>
      <Button look="quiet" onClick={() => selection.select([])}>
        Clear
      </Button>
      <Button onClick={() => selection.select(rows.map(({ id }) => id))} disabled={hasAll}>
        Select all {rows.length} shown
      </Button>
      <For least="member">
        {hasAll && <ReplayAllMatching filter={filter} />}
        {open.length > 0 && (
          <Button look="primary" busy={replay.isPending} onClick={() => replay.mutate(open)}>
            Replay {open.length}
          </Button>
        )}
        {open.length < count && (
          <ConfirmButton
            text={`Replay all ${count}…`}
            look="plain"
            title={`Replay all ${count}?`}
            action="Replay"
            doing={{ ...replay, mutate: (_input, then) => replay.mutate([...selection.selected], then) }}
          >
            <p>
              Delivered, acknowledged or replayed already: {count - open.length}. The receiver gets each of
              them again.
            </p>
          </ConfirmButton>
        )}
      </For>
    </div>
  );
}

/** `onDone` gets the items that were refused, so that they stay selected for another try. */
function useReplaySelected(onDone: (refused: readonly string[]) => void) {
  const queries = useQueryClient();
  return useMutation({
    mutationFn: replayItems,
    onSuccess: ({ replays, failures }, ids) => {
      noteReplays(queries, replays);
      const refused =
        failures.length === 0 ? "" : ` ${failures.length} were refused: ${sentenceOf(failures[0])}`;
      toast({ text: `${replays.size} replayed as new items.${refused}` });
      onDone(ids.filter((id) => !replays.has(id)));
    },
  });
}
