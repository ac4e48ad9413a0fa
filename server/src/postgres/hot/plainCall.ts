import type pg from "pg";
import type { FunctionCall } from "./functionCall.ts";

/** The slow alternative to `callHot`: the driver's own parameters and rows, in text form. */
export async function callPlain<R extends pg.QueryResultRow>(
  pool: pg.Pool,
  { name, text, values, composites }: FunctionCall,
): Promise<R[]> {
  const { rows } = await pool.query<R>({ name, text, values: [...values] });
  if (composites !== undefined) {
    for (const row of rows as Record<string, unknown>[]) {
      for (const [column, fields] of Object.entries(composites)) {
        if (row[column] !== null) row[column] = readComposite(row[column] as string, fields);
      }
    }
  }
  return rows;
}

/** Parses a composite such as `(1,claimed,,…)`: numbers, ids and words are not quoted, and an empty field is null. */
function readComposite(text: string, fields: Readonly<Record<string, string>>): Record<string, unknown> {
  const values = text.slice(1, -1).split(",");
  return Object.fromEntries(
    Object.entries(fields).map(([field, type], index) => {
      const value = values[index]!;
      return [field, value === "" ? null : readField(type, value)];
    }),
  );
}

function readField(type: string, text: string): unknown {
  if (type.startsWith("int")) return Number(text);
  return type === "uuid" ? text.replaceAll("-", "") : text;
}
