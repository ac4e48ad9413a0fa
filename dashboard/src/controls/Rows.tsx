import type { UseQueryResult } from "@tanstack/react-query";
import {
  Fragment,
  type InputHTMLAttributes,
  type ReactNode,
  type Ref,
  useEffect,
  useRef,
  useState,
} from "react";
import { type Keys, useKeys } from "../shell/useKeys.ts";
import { Loaded } from "../states/Loaded.tsx";

interface ColumnNamesProps {
  /** The grid that they share with the rows. */
  columns: string;
  names: readonly string[];
  /** Columns that are aligned right, as figures are. */
  right?: readonly string[];
}

/** The names above rows, where there is width for columns. They are not read out: rows say what they are. */
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

/** A row of a list, marked and in sight where the keys j and k have got to. */
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
  /** In the place of the list where it has no rows. */
  none?: ReactNode;
  /** A list item for each. */
  children: (row: T) => ReactNode;
}

/** Rows that are known by their ids, one below the other. */
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

/** The rows that a query gives as a whole, in each of its states. */
export function LoadedRows<T extends { id: string }>({ query, ...list }: LoadedRowsProps<T>) {
  return <Loaded query={query}>{(rows) => <RowList of={rows} {...list} />}</Loaded>;
}

/** Which of a list's rows j and k moved to, -1 for none; Enter opens its link. `more` says what other keys do to it. */
export function useMarkedRow(rows: number, more: (marked: number) => Keys = noMore): number {
  const [marked, setMarked] = useState(-1);
  useKeys({
    j: () => setMarked(Math.min(rows - 1, marked + 1)),
    k: () => setMarked(Math.max(0, marked - 1)),
    Enter: () => document.querySelector<HTMLAnchorElement>("[data-marked=true] a")?.click(),
    ...more(marked),
  });
  return marked;
}

function noMore(): Keys {
  return {};
}

interface FindInputProps extends InputHTMLAttributes<HTMLInputElement> {
  /** A description of the filter for screen readers. */
  label: string;
  ref: Ref<HTMLInputElement>;
}

/** The filter field of a list; the key / focuses it. */
export function FindInput({ label, className = "", ...rest }: FindInputProps) {
  return (
    <input
      aria-label={label}
      className={`h-9 rounded-control border border-control bg-surface px-2.5 ${className}`}
      {...rest}
    />
  );
}
