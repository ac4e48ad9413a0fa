import { setTimeout as delay } from "node:timers/promises";
import pg from "pg";
import { databaseName } from "./cluster.ts";
import { clientConfig, type ServerConnection } from "../pool.ts";

const pollMs = 20;
const noteEveryMs = 5_000;
/** Recovery replays at most max_wal_size of WAL; a slow disk needs some minutes for that. */
const recoveryMaxMs = 15 * 60_000;

interface Start {
  connection: ServerConnection;
  /** Whether the cluster was created by this start. */
  isNew: boolean;
  /** False once the server's process has ended; the wait then ends too. */
  running: () => boolean;
  log: (message: string) => void;
}

/**
 * Waits until the server answers, and creates the service's database if it does not exist.
 * @returns false when the process ended first.
 * @throws when the server refuses the connection for a reason that waiting does not solve, or after 15 minutes.
 */
export async function waitUntilReady({ connection, isNew, running, log }: Start): Promise<boolean> {
  const begun = performance.now();
  let noted = begun;
  while (running()) {
    const problem = await (isNew ? makeDatabase(connection) : findDatabase(connection));
    if (problem === undefined) return true;
    if (!isStarting(problem))
      throw new Error(`the database refuses the service: ${problem.message}`, { cause: problem });
    const now = performance.now();
    if (now - begun > recoveryMaxMs)
      throw new Error(`the database is not ready after ${recoveryMaxMs / 60_000} minutes`);
    if (now - noted >= noteEveryMs) {
      noted = now;
      log(`waiting for the database (${Math.round((now - begun) / 1_000)} s): ${problem.message}`);
    }
    await delay(pollMs);
  }
  return false;
}

/**
 * Connects to the service's database, and creates it if an earlier start was interrupted before it did. PostgreSQL then logs
 * that the database is missing.
 */
async function findDatabase(connection: ServerConnection): Promise<Error | undefined> {
  const problem = await run(connection, []);
  return isCode(problem, noSuchDatabase) ? makeDatabase(connection) : problem;
}

/** Creates the service's database. */
async function makeDatabase(connection: ServerConnection): Promise<Error | undefined> {
  const problem = await run({ ...connection, database: "postgres" }, [`create database ${databaseName}`]);
  // The database exists if an earlier call created it and the answer was lost.
  if (problem !== undefined && !isCode(problem, duplicateDatabase)) return problem;
  // After a failure the unused databases only cost CPU time; see `forgetUnused`.
  await run(connection, forgetUnused);
  return undefined;
}

const noSuchDatabase = "3D000";
const duplicateDatabase = "42P04";

function isCode(problem: Error | undefined, code: string): boolean {
  return (problem as pg.DatabaseError | undefined)?.code === code;
}

/**
 * Statements that drop and create the unused databases. Autovacuum visits every database that ever had a connection, with a
 * process for each: three databases every five seconds cost an idle service 0.25 % of a core. The new ones have never had a
 * connection.
 */
const forgetUnused = [
  "drop database postgres",
  "create database postgres template template0",
  "alter database template1 is_template false",
  "drop database template1",
  "create database template1 template template0 is_template true",
];

async function run(connection: ServerConnection, statements: readonly string[]): Promise<Error | undefined> {
  const client = new pg.Client({ ...clientConfig(connection), connectionTimeoutMillis: 10_000 });
  client.on("error", () => undefined);
  try {
    await client.connect();
    for (const statement of statements) await client.query(statement);
    return undefined;
  } catch (error) {
    return error as Error;
  } finally {
    await client.end().catch(() => undefined);
  }
}

function isStarting(error: Error): boolean {
  const code = (error as NodeJS.ErrnoException).code ?? "";
  return (
    /^(ECONNREFUSED|ENOENT|ECONNRESET|EPIPE|57P0\d)$/.test(code) ||
    /connection terminated|timeout/i.test(error.message)
  );
}
