import pg from "pg";
import { sessionPid } from "./briefLocks.ts";

/** For connecting and for each statement: a pooler without a free session lets a client wait for minutes. */
const limitMs = 3_000;
/** One round is enough on a pooler that nobody else uses. Otherwise another client may take the session that a round expects. */
const rounds = 8;

/**
 * Looks whether a pooler lends a session of PostgreSQL to one client after the other, for a transaction or a statement each.
 * Prepared statements, the search path, advisory locks and LISTEN would then be another client's. No setting of a session is
 * changed, so that nothing stays behind in one that others use.
 * @throws {Error} a sentence when it does; the driver's errors when the database is away.
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
  "a pooler before the database lends its sessions to one client after the other (pool_mode=transaction or statement), and Postrider keeps prepared statements, its search path, advisory locks and LISTEN in sessions: name PostgreSQL's own address in DATABASE_URL, or a pool with pool_mode=session; Postrider has a pool of its own (POSTRIDER_DATABASE_POOL)";

/**
 * A transaction of the second client keeps the session that it was lent. So the first client never has that one, and never changes
 * its own, unless sessions are shared.
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
  // The code of "too many connections": the start waits for a moment, and tries again.
  const text = `a pooler before the database has no second session within ${limitMs / 1_000} s: raise its pool size (default_pool_size of PgBouncer)`;
  return Object.assign(new Error(text, { cause: error }), { code: "53300" });
}
