import type pg from "pg";
import { bucketOf } from "../../src/postgres/ids.ts";
import { until } from "./until.ts";

export interface StoredItems {
  orgId: string;
  targetId: string;
  count: number;
  /** Size of each payload. */
  bytes?: number;
}

/** Stores items that are accepted and due now, as if a node that is gone had accepted them. */
export async function storeDueItems(
  pool: pg.Pool,
  { orgId, targetId, count, bytes = 100 }: StoredItems,
): Promise<void> {
  await pool.query(
    `with made as (
       select
         $1::smallint as bucket,
         (
           lpad(to_hex((extract(epoch from clock_timestamp()) * 1000)::bigint), 12, '0')
           || '7' || lpad(to_hex(n & 4095), 3, '0') || '8' || substr(md5(random()::text), 1, 13)
           || lpad(to_hex($1::integer), 2, '0')
         )::uuid as id
       from generate_series(1, $4::integer) as n
     ),
     stored as (
       insert into events (bucket, kind, max_retries, billable, target_id, id, org_id, payload)
       select bucket, 1, 8, true, $2, id, $3, convert_to('"' || repeat('x', $5::integer - 2) || '"', 'UTF8')
       from made
     )
     insert into deliveries (bucket, kind, id, target_id, org_id, due_at, event_ids)
     select bucket, 1, id, $2, $3, (extract(epoch from clock_timestamp()) * 1000)::bigint, array[id]
     from made`,
    [bucketOf(targetId), targetId, orgId, count, bytes],
  );
}

export interface HotRows {
  waiting: number;
  leased: number;
}

/** What the hot table holds. */
export async function hotRows(pool: pg.Pool): Promise<HotRows> {
  const { rows } = await pool.query<HotRows>(
    `select
       coalesce(sum(cardinality(event_ids)) filter (where lease_until is null), 0)::integer as waiting,
       coalesce(sum(cardinality(event_ids)) filter (where lease_until is not null), 0)::integer as leased
     from deliveries`,
  );
  return rows[0]!;
}

/** Waits until the hot table holds nothing: all that was due has ended. */
export async function untilNothingIsDue(pool: pg.Pool, limitMs?: number): Promise<void> {
  await until(
    () => hotRows(pool),
    ({ waiting, leased }) => waiting + leased === 0,
    limitMs,
  );
}
