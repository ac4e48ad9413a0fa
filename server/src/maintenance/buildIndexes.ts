import type pg from "pg";
import { withBriefLocks } from "../postgres/briefLocks.ts";
import { noQueryTimeoutMs } from "../postgres/hot/queryTimeout.ts";

const advisoryLockKey = 7_281_934_011;

interface Missing {
  index: string;
  partition: string;
  /** As PostgreSQL writes the definition of the parent's index. */
  definition: string;
}

/**
 * Builds the indexes that a migration gave only to the parents of partitions, on the partitions that were there before,
 * one at a time and without keeping anybody from writing. One process at a time; the others return at once.
 * @returns how many were built.
 */
export async function buildIndexes(pool: pg.Pool): Promise<number> {
  const client = await pool.connect();
  try {
    const { rows } = await client.query<{ taken: boolean }>("select pg_try_advisory_lock($1) as taken", [
      advisoryLockKey,
    ]);
    if (rows[0]?.taken !== true) return 0;
    // A build waits for transactions that were open before it, under a lock that hinders nobody: given up, it would have to
    // begin anew.
    await client.query("set statement_timeout = 0; set lock_timeout = 0");
    const missing = await findMissing(client);
    for (const one of missing) {
      const name = await build(client, one);
      // It locks the partition's index, as whoever reads the partition has.
      await withBriefLocks({ client, pool }, () =>
        client.query(`alter index ${one.index} attach partition ${name}`),
      );
    }
    return missing.length;
  } finally {
    // The lock and the setting belong to the session; the connection is not returned to the pool.
    client.release(true);
  }
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
       -- Where the tables are: the functions' schema comes before it in the path.
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

/** @returns the name of the index, which nothing knows as the parent's yet. */
async function build(client: pg.PoolClient, { index, partition, definition }: Missing): Promise<string> {
  const name = `${partition}_${index}`;
  const text = definition.replace(
    /^CREATE INDEX \S+ ON (ONLY )?\S+ /,
    `create index concurrently ${name} on ${partition} `,
  );
  // The first for what a process left behind that died while it built.
  for (const step of [`drop index concurrently if exists ${name}`, text]) {
    // The driver knows the limit of a single query; its types do not.
    const statement = { text: step, query_timeout: noQueryTimeoutMs };
    await client.query(statement);
  }
  return name;
}
