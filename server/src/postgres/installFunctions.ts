import type pg from "pg";
import {
  calledFunctions,
  functionFiles,
  functionSchema,
  ownSettings,
  plannerSettingsOn,
} from "./functionSchema.ts";
import { hasDistributedCells } from "./ensureCells.ts";
import { SchemaError, type SqlFile } from "./migrations.ts";
import { transact } from "./pool.ts";

/**
 * Creates the schema of this version's functions with all functions, in one transaction, unless the schema exists: its name
 * is a digest of its content. Functions of other versions are not touched. The caller holds the migration lock.
 * @param isDistributed whether the cells are on several servers; read from the database by default.
 * @returns whether it was created.
 * @throws {SchemaError} when a function is refused, or the database's user may not create schemas.
 */
export async function installFunctions(client: pg.ClientBase, isDistributed?: boolean): Promise<boolean> {
  const { rowCount } = await client.query("select from pg_namespace where nspname = $1", [functionSchema]);
  if (rowCount !== 0) return false;
  const install = async (): Promise<void> => {
    await client.query(`create schema ${functionSchema}`);
    // The search path has no other schema, so that a function of another version with the same name is never found.
    // PostgreSQL reads the bodies at the first call; the calling session has the tables in its search path, see `createPool`.
    await client.query(`set local search_path = ${functionSchema}; set local check_function_bodies = off`);
    // Types come first, because signatures use them; bodies are read later.
    for (const file of typesFirst()) await createFunctions(client, file);
    await steerFunctions(client, isDistributed ?? (await hasDistributedCells(client)));
  };
  await transact(client, install).catch((error: unknown) => {
    throw explained(error);
  });
  return true;
}

function typesFirst(): SqlFile[] {
  const isTypes = ({ name }: SqlFile): boolean => name === "types.sql";
  return [...functionFiles.filter(isTypes), ...functionFiles.filter((file) => !isTypes(file))];
}

async function createFunctions(client: pg.ClientBase, { name, text }: SqlFile): Promise<void> {
  try {
    await client.query(text);
  } catch (cause) {
    throw new SchemaError(`${name} failed: ${(cause as Error).message}`, { cause });
  }
}

/** Adapts the functions to a database whose cells are on several servers, or on one PostgreSQL. */
async function steerFunctions(client: pg.ClientBase, isDistributed: boolean): Promise<void> {
  await steerPlanner(client, isDistributed);
  if (!isDistributed) return;
  // Positions in mailboxes come from the clock, and not from the sequence.
  await client.query(
    `create or replace function ${functionSchema}.positions_by_clock() returns boolean
     language sql immutable parallel safe as 'select true'`,
  );
}

/** Sets this database's planner settings on each function that the service calls. */
async function steerPlanner(client: pg.ClientBase, isDistributed: boolean): Promise<void> {
  const settings = plannerSettingsOn(isDistributed);
  const { rows } = await client.query<{ name: string; signature: string }>(
    `select p.proname as name, p.oid::regprocedure::text as signature
     from pg_proc p
     join pg_language l on l.oid = p.prolang
     where p.pronamespace = $1::regnamespace
       and l.lanname = 'plpgsql'`,
    [functionSchema],
  );
  for (const { name, signature } of rows) {
    if (!calledFunctions.has(name)) continue;
    const its = (ownSettings.get(name) ?? settings).map((one) => `set ${one}`);
    await client.query(`alter function ${signature} ${its.join(" ")}`);
  }
}

const insufficientPrivilege = "42501";

function explained(error: unknown): unknown {
  if ((error as { code?: string }).code !== insufficientPrivilege) return error;
  return new SchemaError(
    "the user of DATABASE_URL may not create a schema, which each version makes for its SQL functions: grant it CREATE on the database",
    { cause: error },
  );
}
