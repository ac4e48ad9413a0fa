import type pg from "pg";
import type { FunctionCall } from "./functionCall.ts";

/** The twin of `callHot`: the driver's own parameters and rows, in text form. */
export async function callPlain<R extends pg.QueryResultRow>(
  pool: pg.Pool,
  { name, text, values }: FunctionCall,
): Promise<R[]> {
  const { rows } = await pool.query<R>({ name, text, values: [...values] });
  return rows;
}
