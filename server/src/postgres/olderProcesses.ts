import type pg from "pg";
import { runningOlderProcesses } from "./processes.ts";

/**
 * From this transaction on, only processes that know a migration run on the database: for what older ones would do wrong
 * and no migration can tell, because it depends on the rows. It is what `-- needs` says in a migration, at a later moment.
 * @param migration one that this process knows.
 * @returns false when such a process runs; nothing changes then. One that died counts as running for a minute.
 */
export async function keepOlderProcessesAway(client: pg.ClientBase, migration: number): Promise<boolean> {
  const { rows } = await client.query<{ needs: number }>({
    name: "read_needs",
    text: "select needs from schema_changes where version = $1",
    values: [migration],
  });
  if (rows[0]!.needs >= migration) return true;
  if ((await runningOlderProcesses(client, migration)).length > 0) return false;
  await client.query(
    `with changed as (
       update schema_changes
       set needs = version
       where version = $1
       returning version, name, checksum
     )
     insert into schema_migrations (version, name, checksum)
     select version, name, checksum
     from changed
     on conflict do nothing`,
    [migration],
  );
  return true;
}
