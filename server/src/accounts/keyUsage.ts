import type pg from "pg";
import { inTransaction } from "../postgres/pool.ts";
import type { Log } from "../telemetry/log.ts";
import { hashCredential } from "../http/contract/credentials.ts";

const defaultIntervalMs = 30_000;
/** Maximum number of keys between two flushes. Uses of other keys are dropped; `last_used_at` is only a hint. */
const maxKeys = 100_000;

/**
 * Records which API keys were used. Collects them in memory and writes them every `intervalMs`, so that no request has to write.
 * A key's `last_used_at` is therefore late by at most the interval. A failed write is logged and repeated with the next one.
 */
export function createKeyUsage(
  pool: pg.Pool,
  log: Pick<Log, "warn">,
  intervalMs: number = defaultIntervalMs,
) {
  let keys = new Set<string>();
  const timer = setInterval(() => void flush(), intervalMs);
  timer.unref();

  /** Writes the collected uses in one statement, if there are any. */
  async function flush(): Promise<void> {
    if (keys.size === 0) return;
    const written = keys;
    keys = new Set();
    try {
      await markUsed(pool, [...written].map(hashCredential));
    } catch (error) {
      keys = keys.union(written);
      log.warn({ err: error }, "could not write when API keys were last used");
    }
  }

  return {
    /** Notes a use of the key with this text. Intake calls it for every item, so it does no more than add to a Set. */
    note: (key: string): void => {
      if (keys.size < maxKeys) keys.add(key);
    },
    flush,
    /** Stops the timer and writes the remaining uses. */
    async stop(): Promise<void> {
      clearInterval(timer);
      await flush();
    },
  };
}

/**
 * Sets `last_used_at` of keys. Skips locked rows: another node is writing the same value there, and two nodes must not deadlock.
 * Uses two statements, because with one, Citus would decide separately for each copy of the table which rows are locked.
 */
async function markUsed(pool: pg.Pool, hashes: Buffer[]): Promise<void> {
  await inTransaction(pool, async (client) => {
    const { rows } = await client.query<{ id: string }>({
      name: "lock_used_keys",
      text: `select id
             from api_keys
             where key_hash = any ($1::bytea[])
             for no key update skip locked`,
      values: [hashes],
    });
    await client.query({
      name: "mark_keys_used",
      text: `update api_keys
             set last_used_at = extract(epoch from now())::bigint
             where id = any ($1::uuid[])`,
      values: [rows.map(({ id }) => id)],
    });
  });
}
