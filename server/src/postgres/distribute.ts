import type pg from "pg";
import { steerFunctions } from "./installFunctions.ts";
import { presentCells } from "./ensureCells.ts";
import { type TablePlace, tablePlaces } from "./tablePlaces.ts";

/**
 * Places the cells of a database on the workers of Citus: a copy of the reference tables on every node, and each cell's schema on one. The
 * session finds the control plane's tables. No service runs meanwhile.
 */
export async function distributeCells(pool: pg.Pool): Promise<void> {
  const client = await pool.connect();
  try {
    await client.query("reset search_path; set statement_timeout = 0");
    for (const { table, name } of await keysOfControlPlane(client))
      await client.query(`alter table ${table} drop constraint ${name}`);
    for (const table of tablesIn("reference"))
      await client.query("select create_reference_table($1::regclass)", [table]);
    for (const schema of await presentCells(client))
      await client.query("select citus_schema_distribute($1::regnamespace)", [schema]);
    await steerFunctions(client);
  } finally {
    client.release(true);
  }
}

/** Foreign keys by which Citus would take tables of the control plane into its metadata, where their upserts fail. */
async function keysOfControlPlane(client: pg.ClientBase): Promise<{ table: string; name: string }[]> {
  const { rows } = await client.query<{ table: string; name: string }>(
    `select k.conrelid::regclass::text as table, quote_ident(k.conname) as name
     from pg_constraint k
     where k.contype = 'f'
       and k.conrelid = any ($1::regclass[])
       and k.confrelid = any ($2::regclass[])`,
    [tablesIn("local"), tablesIn("reference")],
  );
  return rows;
}

function tablesIn(place: TablePlace): string[] {
  return [...tablePlaces].filter(([, its]) => its === place).map(([table]) => table);
}
