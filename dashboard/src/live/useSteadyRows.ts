import { useCallback, useState } from "react";

/**
 * Rows that do not move while they are pointed at: which they are and their order stays, what they say goes on.
 * Spread `hold` over what surrounds them. `of` names what they are the rows of: those of another are not held back.
 */
export function useSteadyRows<T>(of: string, rows: readonly T[], idOf: (row: T) => string) {
  const [held, setHeld] = useState<{ of: string; rows: readonly T[] }>();
  const kept = held !== undefined && held.of === of && held.rows.length > 0 ? held.rows : undefined;
  const byId = new Map(kept === undefined ? [] : rows.map((row) => [idOf(row), row] as const));
  // An element that is taken away, as with the last row, is never left by the pointer.
  const ref = useCallback(() => () => setHeld(undefined), []);
  return {
    rows: kept === undefined ? rows : kept.map((row) => byId.get(idOf(row)) ?? row),
    hold: { ref, onPointerEnter: () => setHeld({ of, rows }), onPointerLeave: () => setHeld(undefined) },
  };
}
