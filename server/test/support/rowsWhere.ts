/** Values of columns; an array matches any of its values. */
export type Columns = Readonly<Record<string, unknown>>;

/** A condition on the columns, for a statement whose parameters begin at `$first`, and its values. */
export function rowsWhere(columns: Columns, first: number = 1): { condition: string; values: unknown[] } {
  const values: unknown[] = [];
  const conditions = Object.entries(columns).map(([name, value]) => {
    if (value === null) return `${name} is null`;
    const parameter = `$${first - 1 + values.push(value)}`;
    return `${name} = ${Array.isArray(value) ? `any (${parameter})` : parameter}`;
  });
  return { condition: conditions.join(" and ") || "true", values };
}
