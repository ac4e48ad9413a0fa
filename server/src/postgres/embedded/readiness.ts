import { setTimeout as delay } from "node:timers/promises";
import pg from "pg";
import { databaseName } from "./cluster.ts";
import type { EmbeddedConnection } from "./embeddedServer.ts";

const pollMs = 20;
const noteEveryMs = 5_000;
/** Recovery replays at most max_wal_size of log; a slow disk needs some minutes for it. */
const recoveryMaxMs = 15 * 60_000;

/**
 * Waits until the server answers, and makes the service's database if it is not there.
 * @param running false once the server's process has ended; the wait then ends too.
 * @returns false when the process ended first.
 * @throws when the server refuses us for a reason that waiting does not mend, or after 15 minutes.
 */
export async function waitUntilReady(
  connection: EmbeddedConnection,
  running: () => boolean,
  log: (message: string) => void,
): Promise<boolean> {
  const begun = Date.now();
  let noted = begun;
  while (running()) {
    const problem = await makeDatabase(connection);
    if (problem === undefined) return true;
    if (!isStarting(problem))
      throw new Error(`the database refuses the service: ${problem.message}`, { cause: problem });
    const now = Date.now();
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

async function makeDatabase(connection: EmbeddedConnection): Promise<Error | undefined> {
  const client = new pg.Client({ ...connection, database: "postgres", connectionTimeoutMillis: 10_000 });
  client.on("error", () => undefined);
  try {
    await client.connect();
    const { rowCount } = await client.query("select 1 from pg_database where datname = $1", [databaseName]);
    if (rowCount === 0) await client.query(`create database ${databaseName}`);
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
