import { createHash, randomBytes } from "node:crypto";
import type pg from "pg";
import { stepsKept } from "../../server/src/stats/steps.ts";
import { type ManyEvents, storeManyEvents } from "../../server/test/support/manyEvents.ts";

/** The data of an organization after years: events, statistics, an audit log. */
export interface History extends ManyEvents {
  /** A key of the organization. */
  key: string;
  /** The actor of half of the audit log's entries. */
  actorId: string;
  /** The object of one in ten thousand of the audit log's entries. */
  objectId: string;
  nowSeconds: number;
}

const auditEntries = 1_000_000;

/** Fills a database with `count` events, with the statistics of their targets, and with an audit log. */
export async function fillHistory(pool: pg.Pool, count: number): Promise<History> {
  return addHistory(pool, await storeManyEvents(pool, count));
}

async function addHistory(pool: pg.Pool, many: ManyEvents): Promise<History> {
  const key = `ak_live_${randomBytes(32).toString("hex")}`;
  const client = await pool.connect();
  try {
    await client.query("set statement_timeout = 0");
    await client.query(
      `insert into api_keys (id, org_id, name, key_hash, prefix, created_at)
       values (gen_random_uuid(), $1, 'bench', $2, $3, 1)`,
      [many.orgId, createHash("sha256").update(key).digest(), key.slice(0, 12)],
    );
    const nowSeconds = Math.floor(Date.now() / 1000);
    for (const { seconds, keptSeconds } of stepsKept) {
      await client.query(stepsText, [seconds, Math.floor(keptSeconds / seconds), nowSeconds]);
    }
    const ids = { actorId: randomBytes(16).toString("hex"), objectId: randomBytes(16).toString("hex") };
    await client.query(auditText, [many.orgId, ids.actorId, ids.objectId, auditEntries, nowSeconds]);
    await client.query("vacuum analyze");
    // Writes the loaded pages to the disk now; otherwise that takes half of the disk's time during the measurement.
    await client.query("checkpoint");
    return { ...many, ...ids, key, nowSeconds };
  } finally {
    client.release(true);
  }
}

/** All steps of $1 seconds within retention, for every target and organization, with latencies in 24 ranges. */
const stepsText = `
  insert into activity_steps (
    scope_id, org_id, step, at, accepted, delivered, retried, failed, last_attempt_at, last_success_at,
    latency_ranges, latency_counts, p50_range, p95_range, p99_range, measured
  )
  select
    s.scope_id, s.org_id, $1::integer, $3::bigint / $1 * $1 - n * $1::bigint, 96, 96, 3, 1, 1, 1,
    array(select i::smallint from generate_series(10, 33) as i), array_fill(4::bigint, array[24]),
    21, 32, 33, 96
  from generate_series(0, $2::integer - 1) as n
  cross join (
    select id as scope_id, org_id from targets
    union all
    select id, id from organizations
  ) s`;

/** Stores $4 entries over 90 days. Half have the actor $2; one in ten thousand has the object $3, another one a rare action. */
const auditText = `
  insert into audit_log (id, org_id, action, actor_kind, actor_id, actor_name, object_kind, object_id, object_name, after)
  select
    (
      lpad(to_hex($5::bigint * 1000 - n * 7776000000 / $4::bigint), 12, '0') || '7' || lpad(to_hex(n & 4095), 3, '0') || '8'
      || substr(md5(n::text), 1, 15)
    )::uuid,
    $1, case when n % 10000 = 17 then 'key.deleted' else 'target.updated' end, 'user',
    case when n % 2 = 0 then $2::uuid else gen_random_uuid() end, 'ada@example.com', 'target',
    case when n % 10000 = 4 then $3::uuid else gen_random_uuid() end, 'shop', '{"enabled": false}'
  from generate_series($4::bigint, 1, -1) as n`;
