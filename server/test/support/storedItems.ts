import type pg from "pg";
import { hashCredential } from "../../src/http/contract/credentials.ts";
import { bucketOf, newRootId, newTargetId } from "../../src/postgres/ids.ts";
import { until } from "./until.ts";

/** Stores an organization with an active billing state, and returns its id. */
export async function storeOrganization(pool: pg.Pool, id: string = newRootId(Date.now())): Promise<string> {
  await pool.query(
    "insert into organizations (id, name, slug, billing_status, created_at) values ($1, 'o', $2, 'active', 0)",
    [id, id],
  );
  return id;
}

/** Stores an API key of an organization. */
export async function storeApiKey(pool: pg.Pool, orgId: string, key: string): Promise<string> {
  const id = newRootId(Date.now());
  await pool.query(
    `insert into api_keys (id, org_id, name, key_hash, prefix, created_at)
     values ($1, $2, 'k', $3, 'ak_live_aaaa', 0)
     on conflict (key_hash) do update set org_id = excluded.org_id`,
    [id, orgId, hashCredential(key)],
  );
  return id;
}

/** Stores a target, by default a webhook, and returns its id. */
export async function storeTarget(
  pool: pg.Pool,
  orgId: string,
  columns: Readonly<Record<string, unknown>> = {},
): Promise<string> {
  const isWebhook = (columns["kind"] ?? "webhook") === "webhook";
  const row: Record<string, unknown> = {
    id: newTargetId(orgId, Date.now()),
    org_id: orgId,
    kind: "webhook",
    name: "t",
    created_at: 0,
    updated_at: 0,
    ...(isWebhook && { url: "https://example.com/", secret: Buffer.of(0) }),
    ...columns,
  };
  const names = Object.keys(row);
  await pool.query(
    `insert into targets (${names.join(", ")}) values (${names.map((_name, n) => `$${n + 1}`).join(", ")})`,
    Object.values(row),
  );
  return row["id"] as string;
}

/** Stores many mailboxes without items. */
export async function storeMailboxTargets(pool: pg.Pool, orgId: string, count: number): Promise<void> {
  await pool.query(
    `insert into targets (id, org_id, kind, name, created_at, updated_at)
     select gen_random_uuid(), $1, 'mailbox', 'filler', 1, 1
     from generate_series(1, $2)`,
    [orgId, count],
  );
}

export interface StoredItems {
  orgId: string;
  targetId: string;
  count: number;
  /** Size of each payload, bytes. */
  bytes?: number;
}

/** Stores items that are accepted and due now, as if a stopped node had accepted them. */
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

/** A row of the hot table: items of one target that wait together for their next attempt. */
export interface WaitingRow {
  id: string;
  target_id: string;
  event_ids: string[];
  due_at: number;
  attempts: number;
  schedule_attempts: number;
}

/** The rows of the hot table for some targets. */
export async function waitingRows(pool: pg.Pool, targetIds: readonly string[]): Promise<WaitingRow[]> {
  const { rows } = await pool.query<WaitingRow>(
    `select id, target_id, event_ids, due_at, attempts, schedule_attempts
     from deliveries
     where target_id = any ($1::uuid[])`,
    [targetIds],
  );
  return rows;
}

export interface HotRows {
  waiting: number;
  leased: number;
}

/** The rows of the hot table. */
export async function hotRows(pool: pg.Pool): Promise<HotRows> {
  const { rows } = await pool.query<HotRows>(
    `select
       coalesce(sum(cardinality(event_ids)) filter (where lease_until is null), 0)::integer as waiting,
       coalesce(sum(cardinality(event_ids)) filter (where lease_until is not null), 0)::integer as leased
     from deliveries`,
  );
  return rows[0]!;
}

/** The longest remaining lease of items, milliseconds on the database's clock; 0 if none is leased. */
export async function longestLeaseMs(pool: pg.Pool): Promise<number> {
  const { rows } = await pool.query<{ left_ms: number }>(
    `select coalesce(max(lease_until - extract(epoch from clock_timestamp()) * 1000), 0)::integer as left_ms
     from deliveries`,
  );
  return rows[0]!.left_ms;
}

/** Waits until the hot table is empty: everything due has ended. */
export async function untilNothingIsDue(pool: pg.Pool, limitMs?: number): Promise<void> {
  await until(
    () => hotRows(pool),
    ({ waiting, leased }) => waiting + leased === 0,
    limitMs,
  );
}
