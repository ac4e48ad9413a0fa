import { createHash } from "node:crypto";
import { readdir, readFile } from "node:fs/promises";
import { expect } from "vitest";
import { bucketOf, firstIdAt, newId, newRootId } from "../src/postgres/ids.ts";
import { migrate } from "../src/postgres/migrate.ts";
import { dayMs, dayName, ensurePartitions } from "../src/postgres/partitions.ts";
import { claimDeliveries, finishDeliveries, firstCursor } from "../src/delivery/rows/store.ts";
import { acceptItems } from "../src/intake/acceptItems.ts";
import type { NewItem } from "../src/items/item.ts";
import { createEmptyTestDatabase, createTestDatabase } from "./support/database.ts";
import { everyAttempt } from "./support/everyAttempt.ts";
import { acceptedEvents, createWebhookTarget, sendItem } from "./support/items.ts";
import { createTestNode, signUp } from "./support/testNode.ts";
import { file, databaseTest } from "./support/fixtures.ts";

/*
 * A database as the version before rows of several items left it: what waits there is delivered, and a key that was
 * used there still stands for its item.
 */

const lastOldVersion = 6;
const migrations = new URL("../src/postgres/migrations/", import.meta.url);

const it = databaseTest({ poolSize: 1 })
  .extend("database", file, async ({}, { onCleanup }) => {
    const database = await createEmptyTestDatabase();
    onCleanup(() => database.drop());
    return database;
  })
  .extend("applyOldMigrations", file, ({ pool }) => async (): Promise<void> => {
    await pool.query(`create table schema_migrations (
    version integer primary key,
    name text not null,
    checksum text not null,
    applied_at timestamptz not null default now()
  )`);
    for (const name of (await readdir(migrations)).sort().slice(0, lastOldVersion)) {
      const text = await readFile(new URL(name, migrations), "utf8");
      await pool.query(text);
      await pool.query("insert into schema_migrations values ($1, $2, $3)", [
        Number.parseInt(name, 10),
        name,
        createHash("sha256").update(text).digest("hex"),
      ]);
    }
  })
  /** Of the days around the moment, as the older version had made them. */
  .extend("oldPartitions", file, ({ pool }) => async (nowMs: number): Promise<void> => {
    const today = Math.floor(nowMs / dayMs);
    const tables = ["events", "attempts", "settlements", "closed_messages", "handoffs"];
    for (let day = today - 3; day <= today + 1; day++) {
      const ids = [day, day + 1].map((bound) => `'${firstIdAt(bound * dayMs)}'`);
      for (const table of tables) {
        await pool.query(
          `create table ${table}_${dayName(day)} partition of ${table} for values from (${ids[0]}) to (${ids[1]})`,
        );
      }
      await pool.query(
        `create table idempotency_keys_${dayName(day)} partition of idempotency_keys
       for values from (${day}) to (${day + 1})`,
      );
    }
  });

it("what an older version accepted is delivered, and its keys are known", async ({
  applyOldMigrations,
  oldPartitions,
  pool,
}) => {
  await applyOldMigrations();
  const nowMs = Date.now();
  await oldPartitions(nowMs);
  const [orgId, targetId] = [newRootId(nowMs), newId(9, nowMs)];
  const bucket = bucketOf(targetId);
  const key = `ak_live_${"2".repeat(64)}`;
  const [waiting, retried, leased] = [1, 2, 3].map(() => newId(bucket, nowMs)) as [string, string, string];
  await pool.query("insert into organizations values ($1, 'o', 'o', 'active', null, 0)", [orgId]);
  await pool.query(
    `insert into api_keys (id, org_id, name, key_hash, prefix, created_at)
     values ($1, $2, 'k', sha256(convert_to($3, 'UTF8')), 'ak', 0)`,
    [newRootId(nowMs), orgId, key],
  );
  await pool.query(
    `insert into targets (id, org_id, kind, name, url, secret, created_at, updated_at)
     values ($1, $2, 'webhook', 't', 'https://example.com/', '\\x00', 0, 0)`,
    [targetId, orgId],
  );
  await pool.query(
    `insert into events (bucket, kind, max_retries, billable, target_id, id, org_id, payload)
     select $1, 1, 8, true, $2, id, $3, '{"old":true}'
     from unnest($4::uuid[]) as id`,
    [bucket, targetId, orgId, [waiting, retried, leased]],
  );
  await pool.query(
    `insert into deliveries (bucket, kind, attempts, schedule_attempts, event_id, target_id, org_id, due_at, lease_until,
       lease_token)
     values ($1, 1, 0, 0, $2, $5, $6, 1, null, null), ($1, 1, 4, 2, $3, $5, $6, 1, null, null),
       ($1, 1, 0, 0, $4, $5, $6, 1, 9e15, 7)`,
    [bucket, waiting, retried, leased, targetId, orgId],
  );
  const digest = (data: string): Buffer => createHash("sha256").update(data).digest().subarray(0, 16);
  await pool.query(
    `insert into idempotency_keys (bucket, day, target_id, key_digest, body_digest, event_id)
     values ($1, $2, $3, $4, $5, $6)`,
    [bucket, Math.floor(nowMs / dayMs), targetId, digest("order-1"), digest('{"old":true}'), waiting],
  );

  const applied = await migrate(pool);
  expect(applied.slice(0, 3)).toEqual([
    "0007_delivery_groups.sql",
    "0008_narrow_keys.sql",
    "0009_delivered_groups.sql",
  ]);

  const { deliveries } = await claimDeliveries(pool, {
    leaseMs: 60_000,
    leaseToken: 8,
    cursor: firstCursor,
    skip: [],
    limit: 10,
    perTarget: 10,
    few: 10,
    wide: [],
  });
  const found = deliveries.map(({ eventId, rowId, attempts, scheduleAttempts, payload }) => ({
    eventId,
    rowId,
    attempts,
    scheduleAttempts,
    payload: payload.toString(),
  }));
  const common = { payload: '{"old":true}' };
  expect(found.sort((one, other) => one.attempts - other.attempts)).toEqual([
    { ...common, eventId: waiting, rowId: waiting, attempts: 0, scheduleAttempts: 0 },
    { ...common, eventId: retried, rowId: retried, attempts: 4, scheduleAttempts: 2 },
  ]);

  // Items that came together three days ago, and are delivered only now.
  const threeDaysAgoMs = nowMs - 3 * dayMs;
  const together = [1, 2].map(() => newId(bucket, threeDaysAgoMs)).sort();
  const rowId = newId(bucket, threeDaysAgoMs);
  await pool.query(
    `insert into deliveries (bucket, kind, id, target_id, org_id, due_at, lease_until, lease_token, event_ids)
     values ($1, 1, $2, $3, $4, 1, 9e15, 10, $5)`,
    [bucket, rowId, targetId, orgId, together],
  );
  const attempts = together.map((eventId) => ({
    eventId,
    rowId,
    leaseToken: 10,
    outcome: 1 as const,
    delayMs: 0,
    attemptedAtMs: nowMs,
    durationMs: 3,
    statusCode: 204,
    error: null,
    responseBody: null,
    headerSet: 0,
  }));
  expect(await finishDeliveries(pool, attempts)).toEqual([true, true]);
  const recorded = await pool.query(
    `select event_id from ${everyAttempt} where status_code = 204 order by event_id`,
  );
  expect(recorded.rows.map(({ event_id }) => event_id)).toEqual(together);

  const again = (body: string): NewItem => ({
    id: newId(bucket, nowMs),
    targetId,
    key,
    legacy: false,
    payload: Buffer.from(body),
    eventType: null,
    correlationId: null,
    orderingKey: null,
    traceContext: null,
    match: null,
    idempotencyKey: "order-1",
  });
  const lease = { token: 9, durationMs: 60_000, deadlineMs: 0 };
  const items = [again('{"old":true}'), again('{"old":false}')];
  const acceptances = await acceptItems(pool, items, lease, () => false);
  expect(acceptances).toEqual([
    { outcome: "replayed", id: waiting, kind: 1 },
    { outcome: "idempotency_conflict" },
  ]);
  // The days ahead were made anew, beside the one that holds keys.
  const { rows } = await pool.query<{ name: string }>(
    "select inhrelid::regclass::text as name from pg_inherits where inhparent = 'idempotency_keys'::regclass",
  );
  const today = Math.floor(nowMs / dayMs);
  expect(rows.map(({ name }) => name)).toContain(`idempotency_keys_${dayName(today)}`);
  expect(rows.map(({ name }) => name)).toContain(`idempotency_keys_${dayName(today + 7)}`);
});

it("a process that a newer version has overtaken takes nothing in, and says when to come again", async ({
  onTestFinished,
}) => {
  const overtaken = await createTestDatabase();
  const node = createTestNode(overtaken, { POSTRIDER_ROLES: "api" });
  onTestFinished(async () => {
    await node.stop();
    await overtaken.drop();
  });
  await ensurePartitions(node.pool, Date.now());
  const account = await signUp(node);
  const { id } = await createWebhookTarget(node, account, "https://8.8.8.8/");
  await node.pool.query("alter function accept_items rename to accept_items_otherwise");
  const answer = await node.call("POST", `/t/${id}`, { key: account.api_key, body: {} });
  expect(answer.status).toBe(503);
  expect(Number(answer.headers["retry-after"])).toBeGreaterThan(0);
  await node.pool.query("alter function accept_items_otherwise rename to accept_items");
  await sendItem(node, account, id);
  expect(await acceptedEvents(node, account)).toBe(1);
});
