import type pg from "pg";

/**
 * Runs `work` while this process holds an advisory lock, and does nothing when another one holds it. The lock
 * belongs to one connection, which is kept for as long as the work takes and has no transaction open. Should that
 * connection break, another process may begin meanwhile, and the work must tolerate that.
 * @returns whether the work was done.
 */
export async function withSessionLock(
  pool: pg.Pool,
  key: number,
  work: () => Promise<void>,
): Promise<boolean> {
  const client = await pool.connect();
  let broken: Error | undefined;
  const onError = (error: Error): void => {
    broken = error;
  };
  client.on("error", onError);
  try {
    const { rows } = await client.query<{ taken: boolean }>("select pg_try_advisory_lock($1) as taken", [
      key,
    ]);
    if (rows[0]?.taken !== true) return false;
    try {
      await work();
    } finally {
      // When this fails the connection is gone, and the lock with it.
      await client.query("select pg_advisory_unlock($1)", [key]).catch(onError);
    }
    return true;
  } finally {
    client.off("error", onError);
    client.release(broken);
  }
}
