import { Link } from "@tanstack/react-router";
import { memo, useEffect, useRef } from "react";
import { targetName } from "../api/queries.ts";
import type { Target } from "../api/shapes.ts";
import { useWindowRows } from "../controls/useWindowRows.ts";
import { Ago } from "../time/Moment.tsx";
import { milliseconds } from "../time/wording.ts";
import type { ItemRow } from "./listItems.ts";
import { StatusPill } from "./StatusPill.tsx";

export interface ItemRowsProps {
  rows: readonly ItemRow[];
  targets: readonly Target[] | undefined;
  selected: ReadonlySet<string>;
  /** The id of the row that j and k marked. */
  marked: string | undefined;
  onToggle: (id: string, isRange: boolean) => void;
  onOpen: (id: string) => void;
  /** Called when the user scrolls near the end of the list. */
  onNearEnd: () => void;
  /** Called with the index of the first row in view when the list comes to rest. */
  onRest: (first: number) => void;
}

/** The figures need a window of at least 1120 px, because the sidebar is beside them. */
const columns =
  "grid-cols-[32px_minmax(0,1fr)_auto] md:grid-cols-[32px_124px_148px_minmax(0,1fr)_minmax(0,1fr)] min-[1120px]:grid-cols-[32px_124px_148px_minmax(120px,1fr)_minmax(120px,1fr)_72px_64px_80px]";
const figure = "text-right max-[1119px]:hidden";

/** Pixels at the top of the window that bars may cover: the top bar, the selection bar and the column names. */
const coveredHeight = 136;

/** A virtual list: only the rows in view are in the DOM, so that 100,000 rows scroll like ten. */
export function ItemRows(props: ItemRowsProps) {
  const { rows, onNearEnd, onRest } = props;
  const frame = useRef<HTMLDivElement>(null);
  const virtual = useWindowRows(frame, rows.length, coveredHeight);
  const shown = virtual.getVirtualItems();
  const lastShown = shown.at(-1)?.index ?? 0;
  useEffect(() => {
    if (lastShown >= rows.length - 30) onNearEnd();
  }, [lastShown, rows.length, onNearEnd]);
  const firstInView = virtual.isScrolling ? undefined : virtual.range?.startIndex;
  useEffect(() => {
    if (firstInView !== undefined) onRest(firstInView);
  }, [firstInView, onRest]);
  const rowsNow = useRef(rows);
  useEffect(() => {
    rowsNow.current = rows;
  });
  // Only another mark scrolls the list; the place of the marked row changes when new rows are shown.
  useEffect(() => {
    const at = rowsNow.current.findIndex(({ id }) => id === props.marked);
    if (at >= 0) virtual.scrollToIndex(at, { align: "auto" });
  }, [props.marked, virtual]);
  return (
    <div role="grid" aria-label="Items" aria-rowcount={rows.length + 1}>
      <HeaderRow />
      <div ref={frame} role="presentation" className="relative" style={{ height: virtual.getTotalSize() }}>
        {shown.map(({ index, start, size }) => (
          <div
            key={rows[index]!.id}
            role="presentation"
            className="absolute inset-x-0 top-0 contain-strict"
            style={{ transform: `translateY(${start - virtual.options.scrollMargin}px)`, height: size }}
          >
            <Row
              row={rows[index]!}
              index={index}
              targets={props.targets}
              isSelected={props.selected.has(rows[index]!.id)}
              isMarked={rows[index]!.id === props.marked}
              onToggle={props.onToggle}
              onOpen={props.onOpen}
            />
          </div>
        ))}
      </div>
    </div>
  );
}

function HeaderRow() {
  const names = ["", "Time", "Status", "Type", "Target", "Attempts", "Code", "Duration"];
  return (
    <div
      role="row"
      className={`sticky top-13 z-10 grid h-8 items-center gap-2 border-b bg-surface px-3 text-meta font-medium text-muted max-md:hidden ${columns}`}
    >
      {names.map((name, index) => (
        <span key={name} role="columnheader" className={index > 4 ? figure : ""}>
          {name === "" ? <span className="sr-only">Select</span> : name}
        </span>
      ))}
    </div>
  );
}

interface RowProps extends Pick<ItemRowsProps, "targets" | "onToggle" | "onOpen"> {
  row: ItemRow;
  index: number;
  isSelected: boolean;
  isMarked: boolean;
}

/** Memoized: while the list is scrolled, only rows that come into view are rendered. */
const Row = memo(function Row({ row, index, targets, isSelected, isMarked, onToggle, onOpen }: RowProps) {
  return (
    <div
      role="row"
      aria-rowindex={index + 2}
      aria-selected={isSelected}
      data-marked={isMarked}
      className={`grid h-full items-center gap-2 border-b px-3 hover:bg-sunken aria-selected:bg-claimed-bg data-[marked=true]:shadow-[inset_2px_0_0_var(--accent)] ${columns}`}
    >
      <span role="gridcell" className="flex">
        <input
          type="checkbox"
          aria-label={`Select ${row.id}`}
          checked={isSelected}
          className="size-4 accent-accent"
          onChange={(event) => onToggle(row.id, (event.nativeEvent as MouseEvent).shiftKey)}
        />
      </span>
      <Cells row={row} targets={targets} onOpen={onOpen} />
    </div>
  );
});

function Cells({ row, targets, onOpen }: Pick<ItemRowsProps, "targets" | "onOpen"> & { row: ItemRow }) {
  const muted = `figures text-muted ${figure}`;
  return (
    <>
      <span role="gridcell" className="truncate text-muted max-md:hidden">
        <Ago at={row.created_at} />
      </span>
      <span role="gridcell" className="max-md:order-3 max-md:justify-self-end">
        <StatusPill status={row.status} />
      </span>
      <span role="gridcell" className="min-w-0 max-md:order-2">
        <Link
          to="/items/$id"
          params={{ id: row.id }}
          preload={false}
          className="block truncate font-medium hover:underline"
          onClick={(event) => {
            // A modified click opens the item's own page in another tab.
            if (event.metaKey || event.ctrlKey || event.shiftKey) return;
            event.preventDefault();
            onOpen(row.id);
          }}
        >
          {row.event_type === "" ? "no type" : row.event_type}
          {row.replayed_by && (
            <span className="font-normal text-muted">
              {" "}
              · replayed, {row.replayed_by.status.toLowerCase()}
            </span>
          )}
        </Link>
        <span className="flex gap-1 text-meta text-muted md:hidden">
          <span className="truncate">{targetName(targets, row.endpoint_id)}</span>
          <span className="shrink-0">
            · <Ago at={row.created_at} />
          </span>
        </span>
      </span>
      <span role="gridcell" className="truncate text-muted max-md:hidden">
        {targetName(targets, row.endpoint_id)}
      </span>
      <span role="gridcell" className={muted}>
        {row.attempts ?? "–"}
      </span>
      <span role="gridcell" className={muted}>
        {row.last_status_code ? row.last_status_code : "–"}
      </span>
      <span role="gridcell" className={muted}>
        {row.duration_ms === null || row.duration_ms === undefined ? "–" : milliseconds(row.duration_ms)}
      </span>
    </>
  );
}
