import type { UseQueryResult } from "@tanstack/react-query";
import { Fragment, type InputHTMLAttributes, type ReactNode, useEffect, useRef, useState } from "react";
import { type Keys, useKeys } from "../shell/useKeys.ts";
import { Loaded } from "../states/Loaded.tsx";

interface ColumnNamesProps {
  /** Grid classes, the same as those of the rows. */
  columns: string;
  names: readonly string[];
  /** Names of the columns that are aligned right. */
  right?: readonly string[];
}

/** Column names above the rows, on wide screens. They are hidden from screen readers: the rows are clear without them. */
export function ColumnNames({ columns, names, right }: ColumnNamesProps) {
  return (
    <div className={`h-8 border-b text-meta font-medium text-muted max-md:hidden ${columns}`} aria-hidden>
      {names.map((name, column) => (
        <span key={column} className={right?.includes(name) === true ? "text-right" : undefined}>
          {name}
        </span>
      ))}
    </div>
  );
}

/** A row of a list. The row that j and k have marked is highlighted and scrolled into view. */
export function MarkableRow({
  isMarked,
  className = "",
  children,
}: {
  isMarked: boolean;
  className?: string;
  children: ReactNode;
}) {
  const row = useRef<HTMLLIElement>(null);
  useEffect(() => {
    if (isMarked) row.current?.scrollIntoView({ block: "nearest" });
  }, [isMarked]);
  return (
    <li
      ref={row}
      data-marked={isMarked}
      className={`scroll-my-16 border-b last:border-0 data-[marked=true]:shadow-[inset_2px_0_0_var(--accent)] ${className}`}
    >
      {children}
    </li>
  );
}

interface RowListProps<T> {
  of: readonly T[];
  /** Shown in place of an empty list. */
  none?: ReactNode;
  /** Renders the list item of a row. */
  children: (row: T) => ReactNode;
}

/** A list of rows, keyed by their ids. */
export function RowList<T extends { id: string }>({ of, none, children }: RowListProps<T>) {
  if (of.length === 0 && none !== undefined) return none;
  return (
    <ul>
      {of.map((row) => (
        <Fragment key={row.id}>{children(row)}</Fragment>
      ))}
    </ul>
  );
}

interface LoadedRowsProps<T> extends Omit<RowListProps<T>, "of"> {
  query: UseQueryResult<readonly T[]>;
}

/** The rows of a query without pages, with its loading and error states. */
export function LoadedRows<T extends { id: string }>({ query, ...list }: LoadedRowsProps<T>) {
  return <Loaded query={query}>{(rows) => <RowList of={rows} {...list} />}</Loaded>;
}

/**
 * Returns the index of the row that j and k marked, -1 for none; Enter opens its link. The mark stays on its row when rows are
 * added above it. `more` returns further keys for that row.
 */
export function useMarkedRow(ids: readonly string[], more: (marked: number) => Keys = noMore): number {
  const [markedId, setMarkedId] = useState<string>();
  const marked = markedId === undefined ? -1 : ids.indexOf(markedId);
  useKeys({
    j: () => setMarkedId(ids[Math.min(ids.length - 1, marked + 1)]),
    k: () => setMarkedId(ids[Math.max(0, marked - 1)]),
    Enter: () => document.querySelector<HTMLAnchorElement>("[data-marked=true] a")?.click(),
    ...more(marked),
  });
  return marked;
}

/** Scrolls a list to its marked element, as that element's `ref`. */
export function scrollTo(marked: HTMLElement | null): void {
  marked?.scrollIntoView({ block: "nearest" });
}

function noMore(): Keys {
  return {};
}

interface FindInputProps extends Omit<InputHTMLAttributes<HTMLInputElement>, "value" | "onChange"> {
  /** A description of the filter for screen readers. */
  label: string;
  value: string;
  onType: (text: string) => void;
}

/**
 * The filter field of a list; the key / focuses it. The URL takes over typed text a moment later: the field shows its own text
 * meanwhile, because it would otherwise drop letters of fast typing and move the cursor to the end.
 */
export function FindInput({ label, className = "", value, onType, ...rest }: FindInputProps) {
  const input = useRef<HTMLInputElement>(null);
  const [typed, setTyped] = useState(value);
  const sent = useRef<string[]>([]);
  useKeys({ "/": () => input.current?.focus() });
  useEffect(() => {
    const at = sent.current.indexOf(value);
    sent.current = sent.current.slice(at + 1);
    if (at === -1) setTyped(value);
  }, [value]);
  return (
    <input
      ref={input}
      aria-label={label}
      className={`h-9 rounded-control border border-control bg-surface px-2.5 ${className}`}
      {...rest}
      value={typed}
      onChange={({ target: { value: text } }) => {
        setTyped(text);
        sent.current.push(text);
        onType(text);
      }}
    />
  );
}
