import { useCallback, useState } from "react";

/**
 * Rows that do not move while the pointer is over them: the set of rows and their order stay, while their contents update.
 * Rows after the last held row, such as a page that was loaded by the keyboard, are shown, because they move no other row.
 * Spread `hold` on the element around the rows. `of` identifies the list: when it changes, the rows of the new list are
 * shown.
 */
export function useSteadyRows<T>(of: string, rows: readonly T[], idOf: (row: T) => string) {
  const [held, setHeld] = useState<{ of: string; rows: readonly T[] }>();
  const kept = held !== undefined && held.of === of && held.rows.length > 0 ? held.rows : undefined;
  // An element that is removed, for example with the last row, gets no `pointerleave`.
  const ref = useCallback(() => () => setHeld(undefined), []);
  return {
    rows: kept === undefined ? rows : steady(kept, rows, idOf),
    hold: { ref, onPointerEnter: () => setHeld({ of, rows }), onPointerLeave: () => setHeld(undefined) },
  };
}

function steady<T>(kept: readonly T[], rows: readonly T[], idOf: (row: T) => string): readonly T[] {
  const byId = new Map(rows.map((row) => [idOf(row), row] as const));
  const ids = new Set(kept.map(idOf));
  const last = rows.findLastIndex((row) => ids.has(idOf(row)));
  return [...kept.map((row) => byId.get(idOf(row)) ?? row), ...(last === -1 ? [] : rows.slice(last + 1))];
}
