import type pg from "pg";
import { presentCells } from "../ensureCells.ts";
import { migrations, readMigrations, refuseUnknownMigrations, SchemaError } from "../migrations.ts";
import { tableSchema } from "../partitions.ts";
import { tablesOfCells } from "../tablePlaces.ts";

/**
 * Checks whether a database can be divided into `count` cells. Changes nothing.
 * @throws {SchemaError} that says why not: its schema is not this version's, it is divided, a target's bucket lies outside of its
 *   organization's cell, or the server cannot lock as much at a time.
 */
export async function refuseIndivisible(client: pg.ClientBase, count: number): Promise<void> {
  await refuseOtherSchema(client);
  await refuseDivided(client);
  await refuseTooManyLocks(client);
  await refuseStrays(client, count);
}

/** @throws {SchemaError} when the tables of a database are not those of this version. */
export async function refuseOtherSchema(client: pg.ClientBase): Promise<void> {
  const applied = await readMigrations(client);
  if (applied === undefined) {
    throw new SchemaError(
      "the database has no tables of Postrider yet: start the service with POSTRIDER_CELLS, which divides it at its first start",
    );
  }
  refuseUnknownMigrations(applied);
  const missing = migrations.find(({ version }) => applied.every((one) => one.version !== version));
  if (missing === undefined) return;
  throw new SchemaError(
    `the database lacks migration ${missing.name}: start this version of the service, stop it, and try again`,
  );
}

async function refuseDivided(client: pg.ClientBase): Promise<void> {
  const present = await presentCells(client);
  if (present.length === 0) return;
  throw new SchemaError(`the database has ${present.length} cells already, and keeps their number`);
}

/** Checks the size of the lock table: the tables that the division drops at its end are locked in one transaction. */
async function refuseTooManyLocks(client: pg.ClientBase): Promise<void> {
  const { rows } = await client.query<{ needed: number; each: number; sessions: number }>(
    `with stored as (
       select c.oid, c.reltoastrelid
       from pg_class c
       left join pg_inherits i on i.inhrelid = c.oid
       left join pg_class p on p.oid = i.inhparent
       where coalesce(p.relnamespace, c.relnamespace) = $1::regnamespace
         and coalesce(p.relname, c.relname) = any ($2::text[])
         and c.relkind in ('r', 'p')
     )
     select
       (
         (select count(*) from stored)
         + (select count(*) * 2 from stored where reltoastrelid <> 0)
         + (select count(*) from stored s join pg_index x on x.indrelid = s.oid)
       )::integer as needed,
       current_setting('max_locks_per_transaction')::integer as each,
       current_setting('max_connections')::integer + current_setting('max_prepared_transactions')::integer as sessions`,
    [await tableSchema(client), tablesOfCells],
  );
  const { needed, each, sessions } = rows[0]!;
  if (needed <= each * sessions) return;
  throw new SchemaError(
    `there are too many tables to drop in one transaction: set PostgreSQL's max_locks_per_transaction, now ${each}, to ${Math.ceil(needed / sessions)} or more, and restart it`,
  );
}

/** Checks that the targets' buckets are in the cells of their organizations. Reads targets, and events for deleted targets. */
async function refuseStrays(client: pg.ClientBase, count: number): Promise<void> {
  const { rows } = await client.query<{ cells: number; strays: number; total: number }>(
    `with placed as (
       select get_byte(uuid_send(id), 15) as bucket, get_byte(uuid_send(org_id), 15) as org_bucket
       from (
         select id, org_id from targets
         union
         select target_id, org_id from events
       ) known
     )
     select
       n.cells,
       (count(*) filter (where bucket * n.cells / 256 <> org_bucket * n.cells / 256))::integer as strays,
       count(*)::integer as total
     from placed
     cross join unnest(array[2, 4, 8, 16]) as n (cells)
     group by n.cells
     order by n.cells`,
  );
  const found = rows.find(({ cells }) => cells === count);
  if (found === undefined || found.strays === 0) return;
  const possible = rows.findLast(({ strays }) => strays === 0);
  const way =
    possible === undefined
      ? "it can be divided after these targets and their items are deleted"
      : `it can be divided into ${possible.cells}`;
  throw new SchemaError(
    `${found.strays} of the ${found.total} targets (including deleted ones that still have items) were created by a version without cells, and their ids belong to another of ${count} cells than their organization's: ${way}`,
  );
}
