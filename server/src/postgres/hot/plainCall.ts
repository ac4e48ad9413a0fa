import type pg from "pg";
import type { CompositeField, FunctionCall } from "./functionCall.ts";

/** The twin of `callHot`: the driver's own parameters and rows, in text form. */
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

/** `(1,claimed,,…)`: numbers, ids and words need no quotes, and nothing stands for null. */
function readComposite(text: string, fields: readonly CompositeField[]): unknown[] {
  const values = text.slice(1, -1).split(",");
  return fields.map((field, index) => {
    const value = values[index]!;
    return value === "" ? null : readers[field](value);
  });
}

const readers: Readonly<Record<CompositeField, (text: string) => unknown>> = {
  int4: Number,
  int8: Number,
  uuid: (text) => text.replaceAll("-", ""),
  word: (text) => text,
};
