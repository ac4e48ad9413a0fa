import pg from "pg";
import type { TestDatabase } from "./database.ts";

/** Sets defaults of a database, for sessions that begin from now on. */
export async function setDefaults(
  pool: pg.Pool,
  { url }: TestDatabase,
  settings: Record<string, string>,
): Promise<void> {
  const database = pg.escapeIdentifier(/\/(\w+)(\?|$)/.exec(url)![1]!);
  for (const [name, value] of Object.entries(settings))
    await pool.query(`alter database ${database} set ${name} to ${quoted(name, value)}`);
}

/** `datestyle` is a list, whose words are not quoted together. */
function quoted(name: string, value: string): string {
  return name === "datestyle" ? value : pg.escapeLiteral(value);
}
