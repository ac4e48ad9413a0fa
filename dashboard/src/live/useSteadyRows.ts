import { useCallback, useState } from "react";

/**
 * Rows that do not move while they are pointed at: which they are and their order stays, what they say goes on. Rows that come
 * after the last of them move none, such as those of a page that is loaded by the keyboard, and are shown.
 * Spread `hold` over what surrounds them. `of` names what they are the rows of: those of another are not held back.
 */
export function useSteadyRows<T>(of: string, rows: readonly T[], idOf: (row: T) => string) {
  const [held, setHeld] = useState<{ of: string; rows: readonly T[] }>();
  const kept = held !== undefined && held.of === of && held.rows.length > 0 ? held.rows : undefined;
  // An element that is taken away, as with the last row, is never left by the pointer.
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
