import { useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { useCallback, useMemo, useRef, useState } from "react";
import { targetsQuery } from "../api/queries.ts";
import { Button, buttonLook } from "../controls/Button.tsx";
import { copyId } from "../controls/copyText.ts";
import { useKeys } from "../shell/useKeys.ts";
import { useUrlState } from "../shell/useUrlState.ts";
import { Empty } from "../states/Empty.tsx";
import { PagedList } from "../states/PagedList.tsx";
import { FilterBar } from "./FilterBar.tsx";
import { filterKeys, filterOf, isFiltered, type ItemFilter } from "./filter.ts";
import { ItemDrawer } from "./ItemDrawer.tsx";
import { ItemRows } from "./ItemRows.tsx";
import type { ItemRow } from "./listItems.ts";
import { SelectionBar } from "./SelectionBar.tsx";
import { useItemList } from "./useItemList.ts";
import { type Replay, useReplay } from "./useReplay.tsx";
import { useSelection } from "./useSelection.ts";

/** All items, newest first. The URL holds the filters and the open item. */
export function ItemsPage() {
  const [search, change] = useUrlState();
  const filter = filterOf(search);
  const targets = useQuery(targetsQuery);
  const items = useItemList(filter);
  const ids = useMemo(() => items.rows.map(({ id }) => id), [items.rows]);
  const selection = useSelection(ids);
  const input = useRef<HTMLInputElement>(null);
  const open = search["open"];
  const replay = useReplay();
  const [marked, setMarked] = useListKeys({
    rows: items.rows,
    ids,
    replay,
    selection,
    open,
    input,
    onOpen: (id) => change({ open: id }, "push"),
  });
  const { list } = items;
  const { hasNextPage, isFetchingNextPage, fetchNextPage } = list;
  const loadMore = useCallback(() => {
    if (hasNextPage && !isFetchingNextPage) void fetchNextPage();
  }, [hasNextPage, isFetchingNextPage, fetchNextPage]);
  const clearFilter = (): void => change(Object.fromEntries(filterKeys.map((key) => [key, undefined])));
  return (
    <div className="grid gap-4">
      <h1 className="text-page font-semibold">Items</h1>
      <FilterBar
        filter={filter}
        targets={targets.data ?? []}
        inputRef={input}
        onChange={(changes) => change({ ...changes })}
      />
      <PagedList
        query={list}
        newest={items.refresh}
        isEmpty={items.rows.length === 0 && items.newCount === 0}
        empty={<NoItems filter={filter} onClear={clearFilter} />}
        wayOn={isFiltered(filter) ? <Button onClick={clearFilter}>Clear the filters</Button> : undefined}
      >
        <SelectionBar selection={selection} filter={filter} rows={items.rows} />
        <News of={items} />
        {items.rows.length > 0 && (
          <ItemRows
            rows={items.rows}
            targets={targets.data}
            selected={selection.selected}
            marked={marked}
            onToggle={(id, isRange) => (isRange ? selection.extendTo(id) : selection.toggle(id))}
            onOpen={(id) => {
              setMarked(id);
              change({ open: id }, "push");
            }}
            onNearEnd={loadMore}
            onRest={items.showRowsFrom}
          />
        )}
      </PagedList>
      {replay.dialog}
      <ItemDrawer
        id={open}
        ids={ids}
        onOpen={(id) => change({ open: id }, id === undefined ? "push" : "replace")}
      />
    </div>
  );
}

function News({ of: { newCount, goneCount, showNew } }: { of: ReturnType<typeof useItemList> }) {
  if (newCount + goneCount === 0) return null;
  return (
    <button
      type="button"
      className="w-full border-b bg-claimed-bg py-1.5 font-medium text-claimed hover:underline"
      onClick={() => {
        window.scrollTo({ top: 0 });
        showNew();
      }}
    >
      {[
        newCount > 0 && `${newCount >= 100 ? "100 or more" : newCount} new`,
        goneCount > 0 && `${goneCount} no longer ${goneCount === 1 ? "matches" : "match"}`,
      ]
        .filter((part) => part !== false)
        .join(", ")}
    </button>
  );
}

function NoItems({ filter, onClear }: { filter: ItemFilter; onClear: () => void }) {
  if (isFiltered(filter))
    return (
      <Empty title="No item matches" action={<Button onClick={onClear}>Clear the filters</Button>}>
        There are items, but they do not pass all filters.
      </Empty>
    );
  return (
    <Empty
      title="No items yet"
      action={
        <Link to="/start" search={{}} className={buttonLook("primary")}>
          Send an item
        </Link>
      }
    >
      Items that you post to a target appear here:{" "}
      <code className="whitespace-nowrap">curl -X POST …/t/TARGET</code> with an API key and a JSON body.
    </Empty>
  );
}

interface ListKeys {
  rows: readonly ItemRow[];
  replay: Replay;
  ids: readonly string[];
  selection: ReturnType<typeof useSelection>;
  open: string | undefined;
  input: React.RefObject<HTMLInputElement | null>;
  onOpen: (id: string) => void;
}

/** The keys of the list. While the drawer is open, only the drawer's keys act. */
function useListKeys({ rows, replay, ids, selection, open, input, onOpen }: ListKeys) {
  // The mark stays on its row when new rows are shown above it.
  const [markedId, setMarked] = useState<string>();
  const marked = useMemo(() => (markedId === undefined ? -1 : ids.indexOf(markedId)), [ids, markedId]);
  const id = ids[marked];
  useKeys(
    {
      "/": () => input.current?.focus(),
      j: () => setMarked(ids[Math.min(ids.length - 1, marked + 1)]),
      k: () => setMarked(ids[Math.max(0, marked - 1)]),
      Enter: () => (id === undefined ? undefined : onOpen(id)),
      x: () => (id === undefined ? undefined : selection.toggle(id)),
      "Shift+x": () => (id === undefined ? undefined : selection.extendTo(id)),
      r: () => (rows[marked] === undefined ? undefined : replay.start(rows[marked])),
      c: () => (id === undefined ? undefined : void copyId(id)),
    },
    open === undefined,
  );
  return [id, setMarked] as const;
}
