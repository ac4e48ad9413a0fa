import pg from "pg";
import { sessionPid } from "./briefLocks.ts";

/** Time limit for connecting and for each statement: a pooler without a free session lets a client wait for minutes. */
const limitMs = 3_000;
/**
 * Number of rounds. One is enough on a pooler without other clients. Otherwise another client may get the session that a
 * round expects.
 */
const rounds = 8;

/**
 * Checks whether a pooler gives one session of PostgreSQL to different clients, for one transaction or statement each.
 * Prepared statements, the search path, advisory locks and LISTEN would then belong to another client. The check changes no
 * session setting, so that nothing remains in a session that other clients use.
 * @throws {Error} with a sentence for the operator when it does; the driver's errors when the database cannot be reached.
 */
export async function refuseTransactionPooling(url: string): Promise<void> {
  const settings = { connectionString: url, connectionTimeoutMillis: limitMs, query_timeout: limitMs };
  const [first, second] = [new pg.Client(settings), new pg.Client(settings)];
  for (const client of [first, second]) client.on("error", () => undefined);
  try {
    await first.connect();
    await second.connect();
    if (await areSessionsShared(first, second)) throw new Error(refusal);
  } finally {
    await Promise.allSettled([first.end(), second.end()]);
  }
}

const refusal =
  "a connection pooler in front of the database shares its sessions between clients (pool_mode=transaction or statement), but Postrider keeps prepared statements, its search path, advisory locks and LISTEN in sessions: name PostgreSQL's own address in DATABASE_URL, or a pool with pool_mode=session; Postrider has a pool of its own (POSTRIDER_DATABASE_POOL)";

/**
 * A transaction of the second client keeps its session. So the first client never gets that session, and its own never
 * changes, unless sessions are shared.
 */
async function areSessionsShared(first: pg.Client, second: pg.Client): Promise<boolean> {
  const own = new Set<number>();
  for (let round = 0; round < rounds; round++) {
    own.add(await sessionPid(first));
    try {
      await second.query("begin");
    } catch (error) {
      throw explained(error);
    }
    const other = await sessionPid(second);
    own.add(await sessionPid(first));
    await second.query("rollback");
    if (own.size > 1 || own.has(other)) return true;
  }
  return false;
}

function explained(error: unknown): unknown {
  const { message } = error as Error;
  if (/statement pooling/i.test(message)) return new Error(refusal, { cause: error });
  if (!/timeout/i.test(message)) return error;
  // With the code of "too many connections", the start waits and tries again.
  const text = `a connection pooler in front of the database provided no second session within ${limitMs / 1_000} s: raise its pool size (default_pool_size of PgBouncer)`;
  return Object.assign(new Error(text, { cause: error }), { code: "53300" });
}
