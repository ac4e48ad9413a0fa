import type pg from "pg";
import { functionSchema, functionSchemaPattern } from "../postgres/functionSchema.ts";
import { migrationLockKey } from "../postgres/migrate.ts";
import { inTransaction, tryLock } from "../postgres/pool.ts";

/**
 * Drops the SQL functions of versions that no process has used for a day, and deletes the rows of processes not seen for a
 * day. Never drops this process's own functions. @returns the number of versions whose functions were dropped.
 */
export async function dropUnusedFunctions(pool: pg.Pool): Promise<number> {
  return inTransaction(pool, async (client) => {
    // A starting process holds this lock while it installs its functions and inserts its row.
    if (!(await tryLock(client, migrationLockKey, "transaction"))) return 0;
    await client.query("delete from processes where seen_at < now() - interval '1 day'");
    const { rows } = await client.query<{ name: string }>(
      `select n.nspname as name
       from pg_namespace n
       where n.nspname ~ $1
         and n.nspname <> $2
         and pg_has_role(n.nspowner, 'usage')
         and not exists (select from processes p where p.functions = n.nspname)`,
      [functionSchemaPattern, functionSchema],
    );
    for (const { name } of rows) await dropFunctions(client, name);
    return rows.length;
  });
}

/** Drops a version's functions, types and schema. Without CASCADE, so that the drop fails if the schema has other objects. */
async function dropFunctions(client: pg.ClientBase, schema: string): Promise<void> {
  const { rows } = await client.query<{ functions: string | null; types: string | null }>(
    `select
       (
         select string_agg(oid::regprocedure::text, ', ')
         from pg_proc
         where pronamespace = $1::regnamespace
       ) as functions,
       (
         select string_agg(oid::regclass::text, ', ')
         from pg_class
         where relnamespace = $1::regnamespace
           and relkind = 'c'
       ) as types`,
    [schema],
  );
  const { functions, types } = rows[0]!;
  if (functions !== null) await client.query(`drop function ${functions}`);
  // Composite types that the functions returned.
  if (types !== null) await client.query(`drop type ${types}`);
  await client.query(`drop schema ${schema}`);
}
