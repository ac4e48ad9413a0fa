import pg from "pg";

/** Sets defaults of the pool's database for new sessions. */
export async function setDefaults(pool: pg.Pool, settings: Record<string, string>): Promise<void> {
  const { rows } = await pool.query<{ name: string }>("select current_database() as name");
  const database = pg.escapeIdentifier(rows[0]!.name);
  for (const [name, value] of Object.entries(settings))
    await pool.query(`alter database ${database} set ${name} to ${quoted(name, value)}`);
}

/** `datestyle` is a list, whose words must not be quoted together. */
function quoted(name: string, value: string): string {
  return name === "datestyle" ? value : pg.escapeLiteral(value);
}
