import pg from "pg";
import { cellSchemaPattern, unfinishedSchemaPattern } from "../postgres/cells.ts";
import { functionSchemaPattern } from "../postgres/functionSchema.ts";
import { runningHosts } from "../postgres/processes.ts";
import { CommandError } from "../runtime/commandError.ts";
import { tableNames } from "./ownTables.ts";

/**
 * Looks whether a database may be filled: it has nobody's data and no running service.
 * @throws {CommandError} otherwise.
 */
export async function refuseUnlessEmpty(client: pg.ClientBase): Promise<void> {
  await refuseWhileRunning(client);
  if (!(await isThere(client, "organizations"))) return;
  const { rows } = await client.query<{ count: string }>("select count(*) as count from organizations");
  const count = Number(rows[0]!.count);
  if (count === 0) return;
  throw new CommandError(
    `the database already holds ${count} organization${count === 1 ? "" : "s"}: give an empty one, or empty it with postrider reset`,
    "conflict",
  );
}

/** @throws {CommandError} while a service uses the database. */
export async function refuseWhileRunning(client: pg.ClientBase): Promise<void> {
  if (!(await isThere(client, "processes"))) return;
  const hosts = await runningHosts(client);
  if (hosts.length === 0) return;
  throw new CommandError(
    `a service runs on the database (on ${hosts.join(", ")}): stop it first; one that died counts as running for a minute`,
    "conflict",
  );
}

/** Removes the service's tables, with what is in them, and all versions' functions. Nothing else is touched. */
export async function dropOwnTables(client: pg.ClientBase): Promise<void> {
  const { rows } = await client.query<{ schema: string }>(
    "select nspname as schema from pg_namespace where nspname ~ any ($1::text[])",
    [[functionSchemaPattern, cellSchemaPattern, unfinishedSchemaPattern]],
  );
  const schemas = rows.map(({ schema }) => `drop schema ${pg.escapeIdentifier(schema)} cascade`);
  const tables = tableNames.map((name) => pg.escapeIdentifier(name)).join(", ");
  await client.query("begin");
  try {
    for (const statement of schemas) await client.query(statement);
    await client.query(`drop table if exists ${tables} cascade`);
    await client.query("drop sequence if exists message_positions");
    await client.query("commit");
  } catch (error) {
    await client.query("rollback");
    throw error;
  }
}

async function isThere(client: pg.ClientBase, table: string): Promise<boolean> {
  const { rows } = await client.query<{ exists: boolean }>("select to_regclass($1) is not null as exists", [
    table,
  ]);
  return rows[0]!.exists;
}
