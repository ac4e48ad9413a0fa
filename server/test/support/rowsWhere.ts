/** Values that columns have; an array for one of several values. */
export type Columns = Readonly<Record<string, unknown>>;

/** A condition on the columns for a statement whose parameters begin at `$first`, and its values. */
export function rowsWhere(columns: Columns, first: number = 1): { condition: string; values: unknown[] } {
  const conditions = Object.entries(columns).map(([name, value], n) =>
    Array.isArray(value) ? `${name} = any ($${first + n})` : `${name} = $${first + n}`,
  );
  return { condition: conditions.join(" and ") || "true", values: Object.values(columns) };
}
