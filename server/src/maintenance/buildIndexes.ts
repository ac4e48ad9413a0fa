import type pg from "pg";
import { sessionPid, withBriefLocks } from "../postgres/briefLocks.ts";
import { lockOfCell } from "../postgres/cells.ts";
import { limited, noQueryTimeoutMs } from "../postgres/hot/queryLimit.ts";
import { tryLock } from "../postgres/pool.ts";

const advisoryLockKey = 7_281_934_011;

interface Missing {
  index: string;
  partition: string;
  /** Definition of the parent's index, as PostgreSQL writes it. */
  definition: string;
}

/**
 * Builds the indexes that a migration created only on the parents, on the partitions that existed before, one at a time and
 * without blocking writes. An advisory lock allows one process at a time; in others the call returns at once. The signal
 * cancels a build, and the next run starts that build again.
 * @returns the number of built indexes.
 */
export async function buildIndexes(
  pool: pg.Pool,
  stopping?: AbortSignal,
  cellNumber: number = 0,
): Promise<number> {
  const client = await pool.connect();
  try {
    if (!(await tryLock(client, lockOfCell(advisoryLockKey, cellNumber), "session"))) return 0;
    // A concurrent build waits for older transactions, under a lock that blocks no reads or writes. A timeout would only make
    // it start again.
    await client.query("set statement_timeout = 0; set lock_timeout = 0");
    return await buildMissing({ client, pool, pid: await sessionPid(client), stopping });
  } finally {
    // The lock and the setting belong to the session; the connection is not returned to the pool.
    client.release(true);
  }
}

interface Session {
  client: pg.PoolClient;
  pool: pg.Pool;
  pid: number;
  stopping: AbortSignal | undefined;
}

async function buildMissing({ client, pool, pid, stopping }: Session): Promise<number> {
  const cancel = (): void => void pool.query("select pg_cancel_backend($1)", [pid]).catch(() => undefined);
  stopping?.addEventListener("abort", cancel);
  let built = 0;
  try {
    for (const one of await findMissing(client)) {
      stopping?.throwIfAborted();
      const name = await build(client, one);
      // Attaching needs an exclusive lock on the partition's index, and every reader of the partition holds a lock on it.
      const session = { client, pool, onWait: () => stopping?.throwIfAborted() };
      await withBriefLocks(session, () => client.query(`alter index ${one.index} attach partition ${name}`));
      built++;
    }
  } catch (error) {
    if (stopping?.aborted !== true) throw error;
  } finally {
    stopping?.removeEventListener("abort", cancel);
  }
  return built;
}

async function findMissing(client: pg.PoolClient): Promise<Missing[]> {
  const { rows } = await client.query<Missing>(
    `select
       i.indexrelid::regclass::text as index,
       p.inhrelid::regclass::text as partition,
       pg_get_indexdef(i.indexrelid) as definition
     from pg_index i
     join pg_class c on c.oid = i.indexrelid and c.relkind = 'I'
     join pg_inherits p on p.inhparent = i.indrelid
     where not i.indisvalid
       -- Only the schema of the tables; the functions' schema precedes it in the search path.
       and c.relnamespace = (select e.relnamespace from pg_class e where e.oid = 'events'::regclass)
       and not exists (
         select
         from pg_inherits a
         join pg_index b on b.indexrelid = a.inhrelid
         where a.inhparent = i.indexrelid
           and b.indrelid = p.inhrelid
       )
     order by partition desc, index`,
  );
  return rows;
}

/** Builds a partition's index. @returns its name; the index is not attached to the parent's yet. */
async function build(client: pg.PoolClient, { index, partition, definition }: Missing): Promise<string> {
  const name = `${partition}_${index}`;
  const text = definition.replace(
    /^CREATE INDEX \S+ ON (ONLY )?\S+ /,
    `create index concurrently ${name} on ${partition} `,
  );
  // Drops the invalid index that a process leaves when it dies during a build.
  for (const step of [`drop index concurrently if exists ${name}`, text]) {
    await client.query(limited(noQueryTimeoutMs, step));
  }
  return name;
}
