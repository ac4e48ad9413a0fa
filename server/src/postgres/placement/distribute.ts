import type pg from "pg";
import { settingsLost } from "../additionsTo.ts";
import { type Distribution, readDistribution, tablesIn } from "../distribution.ts";
import { presentCells, refuseUnlike, schemasLike } from "../ensureCells.ts";
import { functionSchemaPattern } from "../functionSchema.ts";
import { installFunctions } from "../installFunctions.ts";
import { tableSchema } from "../partitions.ts";
import { placeOfServer } from "../cellServers.ts";
import { emptiestWorker, readWorkers, setTakesCells } from "./workers.ts";
import { transact } from "../pool.ts";
import { tablesOfCells } from "../tablePlaces.ts";
import { readShapes } from "../tableShape.ts";

/** A foreign key from a table of the control plane to a reference table. */
interface KeyToReference {
  table: string;
  name: string;
  /** The definition in PostgreSQL's catalogue. */
  definition: string;
}

/**
 * The foreign keys that exist on one PostgreSQL and are dropped while the cells are on several servers: because of such a
 * key, Citus would add the table to its metadata, and the table's upserts would fail. A test compares this list with the
 * foreign keys that the migrations create.
 */
export const keysToReference: readonly KeyToReference[] = [
  ...[
    "audit_log",
    "billing_accounts",
    "billing_state_changes",
    "event_types",
    "held_invoices",
    "invitations",
    "meter_batches",
    "meter_counters",
    "portal_settings",
    "users",
  ].map((table) => ({
    table,
    name: `${table}_org_id_fkey`,
    definition: "FOREIGN KEY (org_id) REFERENCES organizations(id)",
  })),
  ...["portal_links", "portal_sessions"].map((table) => ({
    table,
    name: `${table}_customer`,
    definition: "FOREIGN KEY (org_id, customer_uid) REFERENCES customers(org_id, uid) ON DELETE CASCADE",
  })),
];

/** Deletes portal access of customers that were deleted while the foreign key was absent. */
const orphans = ["portal_links", "portal_sessions"].map(
  (table) => `delete from ${table} p where not exists (
       select from customers c where c.org_id = p.org_id and c.uid = p.customer_uid
     )`,
);

/** Callbacks: `doing` gets the current step, as a text to follow "still"; `done` gets each finished step. */
export interface Steps {
  doing: (what: string) => void;
  done: (what: string) => void;
}

/**
 * Places the cells of a database on the workers of Citus: each cell's schema on one worker, and a copy of the reference
 * tables on every server. Continues where an earlier run was interrupted. The session finds the control plane's tables, and
 * no service runs meanwhile.
 *
 * Each step is one transaction, and the order of the steps makes the state readable from the catalogue (`distribution.ts`):
 * the first step creates the reference tables, the last one places the last cell, and all other steps are between these two.
 */
export async function distribute(client: pg.ClientBase, steps: Steps): Promise<void> {
  const { local, uncopied } = await readKnown(client);
  if (uncopied.length > 0) await copyReferences(client, uncopied, steps);
  if (local.length === 0) return;
  steps.doing("installing the functions on every server");
  await renewFunctions(client, true);
  steps.done("Installed the functions on every server");
  for (const schema of local) await distributeCell(client, schema, steps);
}

/**
 * Moves all cells back to the coordinator and restores the state before the distribution. Continues where an earlier run was
 * interrupted. The steps are in the reverse order of {@link distribute}.
 */
export async function undistribute(client: pg.ClientBase, steps: Steps): Promise<void> {
  const { distributed, uncopied } = await readKnown(client);
  for (const schema of distributed) await bringBack(client, schema, steps);
  const copied = tablesIn("reference").filter((table) => !uncopied.includes(table));
  if (copied.length === 0) return;
  steps.doing("installing the functions for one server");
  await renewFunctions(client, false);
  steps.doing("looking for the last position in mailboxes");
  await continuePositions(client);
  await takeReferencesBack(client, steps);
}

/**
 * Advances the sequence beyond every position in the cells, which came from the clock. Reads all messages; used at the end of
 * `undistribute`, when the tables are on one PostgreSQL again. The session finds the control plane's tables.
 */
export async function continuePositions(client: pg.ClientBase): Promise<void> {
  for (const schema of await presentCells(client)) {
    await client.query(
      `select setval('message_positions', l.position)
       from (
         select max(p.position) as position
         from (
           select max(m.position) as position from ${schema}.messages m
           union all
           select max(c.position) from ${schema}.closed_messages c
         ) p
       ) l
       cross join message_positions s
       where l.position > s.last_value`,
    );
  }
}

async function readKnown(client: pg.ClientBase): Promise<Distribution> {
  const found = await readDistribution(client);
  if (found === undefined) throw new Error("the database has no Citus");
  return found;
}

/**
 * Creates the reference tables. Drops the foreign keys to them first: because of such a key, Citus would add the referring
 * table to its metadata, and that table's upserts would fail.
 */
async function copyReferences(
  client: pg.ClientBase,
  uncopied: readonly string[],
  steps: Steps,
): Promise<void> {
  steps.doing("copying the tables that all cells read to every server");
  await transact(client, async () => {
    for (const { table, name } of keysToReference)
      await client.query(`alter table ${table} drop constraint if exists ${name}`);
    for (const table of uncopied) await client.query("select create_reference_table($1::regclass)", [table]);
    await dropLeftRows(client, uncopied);
  });
  steps.done(`Copied ${uncopied.length} tables that all cells read to every server`);
}

/** Undistributing one table also undistributes the tables that foreign keys connect with it. */
async function takeReferencesBack(client: pg.ClientBase, steps: Steps): Promise<void> {
  steps.doing("taking back the copies of the tables that all cells read");
  await transact(client, async () => {
    for (;;) {
      const { uncopied } = await readKnown(client);
      const table = tablesIn("reference").find((one) => !uncopied.includes(one));
      if (table === undefined) break;
      await client.query("select undistribute_table($1::regclass, cascade_via_foreign_keys => true)", [
        table,
      ]);
    }
    for (const statement of orphans) await client.query(statement);
    for (const { table, name, definition } of keysToReference)
      await client.query(`alter table ${table} add constraint ${name} ${definition}`);
  });
  steps.done("Took back the copies of the tables that all cells read");
}

/**
 * Drops and creates this version's functions, because Citus copies functions to other servers only if it knew these servers
 * when the functions were created. Drops the functions of other versions: each version installs its own when it starts, with
 * the planner settings for the new state.
 */
async function renewFunctions(client: pg.ClientBase, isDistributed: boolean): Promise<void> {
  for (const name of await schemasLike(client, functionSchemaPattern))
    await client.query(`drop schema ${name} cascade`);
  await installFunctions(client, isDistributed);
}

async function distributeCell(client: pg.ClientBase, schema: string, { doing, done }: Steps): Promise<void> {
  const beganMs = performance.now();
  const workers = await readWorkers(client);
  const target = await emptiestWorker(client, workers);
  doing(`moving the rows of ${schema} to ${placeOfServer(target)}`);
  await transact(client, async () => {
    // Citus chooses a worker by an internal number, so all other workers are excluded during the choice.
    const others = workers.filter((worker) => worker.takesCells && worker !== target);
    for (const other of others) await setTakesCells(client, other, false);
    await client.query("select citus_schema_distribute($1::regnamespace)", [schema]);
    for (const other of others) await setTakesCells(client, other, true);
    await dropLeftRows(
      client,
      tablesOfCells.map((table) => `${schema}.${table}`),
    );
  });
  doing(`gathering statistics of ${schema}`);
  await analyze(client, schema);
  done(`${schema} is on ${placeOfServer(target)} (${secondsSince(beganMs)} s)`);
}

async function bringBack(client: pg.ClientBase, schema: string, { doing, done }: Steps): Promise<void> {
  const beganMs = performance.now();
  doing(`bringing back the rows of ${schema}`);
  await transact(client, async () => {
    await client.query("select citus_schema_undistribute($1::regnamespace)", [schema]);
    await restoreShape(client, schema);
  });
  doing(`gathering statistics of ${schema}`);
  await analyze(client, schema);
  done(`${schema} is back (${secondsSince(beganMs)} s)`);
}

/** Restores settings that the tables lost when Citus created them again. */
async function restoreShape(client: pg.ClientBase, schema: string): Promise<void> {
  const home = await tableSchema(client);
  const wanted = await readShapes(client, home, tablesOfCells);
  await client.query(`set local search_path = ${schema}, ${home}`);
  const present = await readShapes(client, schema, tablesOfCells);
  for (const statement of settingsLost(schema, wanted, present)) await client.query(statement);
  await refuseUnlike(client, { home, schema }, wanted);
}

/**
 * Removes the rows from before the distribution, which were copied to the workers while the originals stay hidden in the
 * coordinator's tables.
 */
async function dropLeftRows(client: pg.ClientBase, tables: readonly string[]): Promise<void> {
  for (const table of tables)
    await client.query("select truncate_local_data_after_distributing_table($1::regclass)", [table]);
}

async function analyze(client: pg.ClientBase, schema: string): Promise<void> {
  await client.query(`analyze ${tablesOfCells.map((table) => `${schema}.${table}`).join(", ")}`);
}

function secondsSince(beganMs: number): string {
  return ((performance.now() - beganMs) / 1_000).toFixed(1);
}
