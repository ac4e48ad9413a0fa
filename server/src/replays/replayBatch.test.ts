import type pg from "pg";
import { describe, expect, onTestFinished } from "vitest";
import { databaseTest, file } from "../../test/support/fixtures.ts";
import { storeDueItems, storeOrganization, storeTarget } from "../../test/support/storedItems.ts";
import { holdTable } from "../../test/support/heldLocks.ts";
import { until } from "../../test/support/until.ts";
import { noChanges } from "../../test/support/idleSink.ts";
import { firstIdAt, newRootId, unknownId } from "../postgres/ids.ts";
import { ensurePartitions } from "../postgres/partitions.ts";
import { createLog } from "../telemetry/log.ts";
import { createQuiet } from "../runtime/quiet.ts";
import { createQueries, type Queries } from "../postgres/tables.ts";
import { followReplayed } from "./followReplayed.ts";
import { type BatchDeps, replayBatch } from "./replayBatch.ts";
import { createReplayWorker } from "./worker.ts";
import { type ClaimedReplay, claimReplay, insertReplay, whileLeased } from "./store.ts";

const items = 60;
const settle = `insert into settlements (bucket, status, event_id, org_id, target_id, settled_at)
  select bucket, 'FAILED', id, org_id, target_id, 0`;

const it = databaseTest({ poolSize: 4 })
  .extend("queries", file, ({ pool }) => createQueries(pool))
  .extend("deps", file, ({ pool, queries }): BatchDeps => ({
    config: { mailboxRetentionMs: 604_800_000 },
    pool,
    queries,
    clock: { mayMakeItems: () => true },
    changes: noChanges,
    onMailboxItems: () => undefined,
    nowMs: Date.now,
    onDue: () => undefined,
  }))
  /** Claims the job for its next batch as if it were due. */
  .extend("claim", file, ({ pool, queries }) => async (): Promise<ClaimedReplay> => {
    await pool.query("update replays set due_at = 0");
    return (await claimReplay(queries, unknownId))!;
  })
  .extend("made", file, ({ pool }) => async (): Promise<Made> => {
    const { rows } = await pool.query<Made>(
      `select
         count(*) as events,
         count(distinct source_event_id) as sources,
         (select replayed from replays) as replayed
       from events
       where replay_id is not null`,
    );
    return rows[0]!;
  });

interface Made {
  events: number;
  sources: number;
  replayed: number;
}

/** Creates an organization with failed events and a running replay of them. */
let orgId: string;
let targetId: string;

it.beforeAll(async ({ pool }) => {
  await ensurePartitions(pool, Date.now());
});

it.beforeEach(async ({ pool, queries }) => {
  await pool.query("truncate replays cascade; truncate deliveries, events, settlements");
  orgId = newRootId(Date.now());
  targetId = newRootId(Date.now());
  await storeOrganization(pool, orgId);
  await storeTarget(pool, orgId, { id: targetId });
  await storeDueItems(pool, { orgId, targetId, count: items });
  await pool.query(`${settle} from events`);
  await pool.query("truncate deliveries");
  await storeReplay(pool, queries, orgId);
});

/** Creates a running replay of an organization's failed events of `targetId`. */
async function storeReplay(pool: pg.Pool, queries: Queries, orgId: string): Promise<void> {
  const createdAtMs = Date.now();
  await insertReplay(
    queries,
    { kind: "session", role: "admin", orgId, userId: await anyUser(pool), tokenHash: Buffer.alloc(0) },
    {
      id: newRootId(createdAtMs),
      filter: { status: "FAILED" },
      ratePerSecond: 100,
      createdAtMs,
      until: firstIdAt(createdAtMs + 1_000),
      total: items,
      isNewWebhookId: false,
      includeReplayed: false,
      targetIds: [targetId],
    },
  );
}

async function anyUser(pool: pg.Pool): Promise<string> {
  const id = newRootId(Date.now());
  await pool.query(
    `insert into users (id, org_id, email, email_key, name, role, password_hash, created_at)
     values ($1, $2, 'a@example.com', $3, 'a', 'admin', 'x', 0)`,
    [id, orgId, id],
  );
  return id;
}

function startWorker(deps: BatchDeps) {
  const quiet = createQuiet({ afterMs: 60_000, isWatched: () => false, now: Date.now });
  const worker = createReplayWorker({ ...deps, log: createLog("silent"), quiet });
  onTestFinished(() => worker.stop());
  worker.start();
  return worker;
}

it("organizations take turns, however many replays each of them has", async ({ pool, queries }) => {
  const otherId = newRootId(Date.now());
  await storeOrganization(pool, otherId);
  for (const org of [orgId, orgId, otherId]) await storeReplay(pool, queries, org);
  const turns: string[] = [];
  for (let last = unknownId; turns.length < 4; turns.push(last)) {
    await pool.query("update replays set due_at = 0, lease_until = null, lease_token = null");
    last = (await claimReplay(queries, last))!.orgId;
  }
  expect(turns.slice(0, 2)).toEqual(turns.slice(2));
  expect(new Set(turns)).toEqual(new Set([orgId, otherId]));
});

it("the total of a large set, counted while the job runs, includes events that the job has replayed", async ({
  pool,
  deps,
}) => {
  // One event in a batch, and a second until the next one is due.
  await pool.query("update replays set total = null, rate_per_second = 1");
  await pool.query("update replay_parts set is_counted = false");
  startWorker(deps);
  const total = await until(
    async () => (await pool.query<{ total: number | null }>("select total from replays")).rows[0]!.total,
    (seen) => seen !== null,
  );
  expect(total).toBe(items);
});

describe("a batch of a replay", () => {
  it("is created once, and the job ends after the last batch", async ({ queries, deps, claim, made }) => {
    const outcomes: string[] = [];
    while (outcomes.at(-1) !== "finished") outcomes.push(await replayBatch(deps, await claim()));
    expect(outcomes).toEqual(["advanced", "advanced", "finished"]);
    expect(await made()).toEqual({ events: items, sources: items, replayed: items });
    expect(await claimReplay(queries, unknownId)).toBeUndefined();
  });

  it("ends a long search early, and the next batch continues it", async ({ pool, deps, claim, made }) => {
    await storeDueItems(pool, { orgId, targetId, count: 500 });
    await pool.query("truncate deliveries");
    // One walk finds the events with the type, the other those with the correlation id. Only the last event has both.
    await pool.query(
      `update events e
       set event_type = case when n % 2 = 0 then 'common' end, correlation_id = case when n % 2 = 1 or n = 560 then 'c' end
       from (select id, row_number() over w as n from events window w as (order by id)) r
       where r.id = e.id`,
    );
    await pool.query(`${settle} from events where event_type is not null and correlation_id is not null`);
    await pool.query(
      `update replays set filter = '{"event_type": "common", "correlation_id": "c"}', total = null`,
    );
    await pool.query("update replay_parts set is_counted = false");
    const inSteps = { ...deps, searchMs: 0 };
    expect(await replayBatch(inSteps, await claim())).toBe("advanced");
    expect(await made()).toMatchObject({ replayed: 0 });
    startWorker(inSteps);
    await until(made, ({ replayed }) => replayed > 0);
  });

  it("is rejected from a node whose lease has passed to another node", async ({
    pool,
    queries,
    deps,
    claim,
    made,
  }) => {
    const late = await claim();
    expect(await claimReplay(queries, unknownId)).toBeUndefined();
    await pool.query("update replays set lease_until = 0");
    const next = await claim();
    expect(next.leaseToken).not.toBe(late.leaseToken);
    expect(await replayBatch(deps, late)).toBe("lost");
    expect(await made()).toMatchObject({ events: 0, replayed: 0 });
    expect(await replayBatch(deps, next)).toBe("advanced");
    expect(await replayBatch(deps, next)).toBe("lost");
    expect(await made()).toEqual({ events: 25, sources: 25, replayed: 25 });
  });

  it("keeps its lease while the worker reads its page, however long that takes", async ({
    pool,
    deps,
    made,
  }) => {
    const release = await holdTable(pool, "events");
    const worker = startWorker(deps);
    const readLease = async (): Promise<{ token: number | null; ms: number | null }> => {
      const { rows } = await pool.query("select lease_token as token, lease_until as ms from replays");
      return rows[0];
    };
    const first = await until(readLease, ({ ms }) => ms !== null);
    await pool.query("update replays set lease_until = 0");
    // A worker that gave up would claim the job with another token.
    const renewed = await until(readLease, ({ ms }) => ms !== null && ms > Date.now());
    expect(renewed.token).toBe(first.token);
    await release();
    await until(made, ({ replayed }) => replayed > 0);
    await worker.stop();
  });

  it("loses its lease when another node has taken over the job", async ({ pool, queries, claim }) => {
    const job = await claim();
    await pool.query("update replays set lease_until = 0");
    await claim();
    await pool.query("update replays set lease_until = 0");
    let looks = 0;
    await whileLeased(queries, job, () => until(() => ++looks > 20).then(() => undefined), 1);
    expect((await pool.query("select lease_until from replays")).rows).toEqual([{ lease_until: 0 }]);
  });

  it("is rejected from a node that has the lease but read the cursor before another batch", async ({
    pool,
    deps,
    claim,
    made,
  }) => {
    const job = await claim();
    await replayBatch(deps, job);
    await pool.query("update replays set lease_until = 9e15, lease_token = $1", [job.leaseToken]);
    expect(await replayBatch(deps, job)).toBe("lost");
    expect(await made()).toEqual({ events: 25, sources: 25, replayed: 25 });
  });

  it("is created by only one of many concurrent workers", async ({ deps, claim, made }) => {
    const job = await claim();
    const outcomes = await Promise.all([1, 2, 3, 4].map(() => replayBatch(deps, job)));
    expect(outcomes.toSorted()).toEqual(["advanced", "lost", "lost", "lost"]);
    expect(await made()).toEqual({ events: 25, sources: 25, replayed: 25 });
  });

  it("is not created for a job that was canceled meanwhile", async ({ pool, deps, claim, made }) => {
    const job = await claim();
    await pool.query("update replays set status = 'CANCELED', finished_at = 1");
    expect(await replayBatch(deps, job)).toBe("lost");
    expect(await made()).toMatchObject({ events: 0, replayed: 0 });
  });

  it("has ids above those of the set by either clock, in the order of their sources", async ({
    pool,
    deps,
    claim,
  }) => {
    const job = await claim();
    await replayBatch({ ...deps, nowMs: () => 1_000 }, job);
    const { rows } = await pool.query<{ id: string; source_event_id: string }>(
      "select id, source_event_id from events where replay_id is not null order by id",
    );
    expect(rows.every(({ id }) => id > job.until)).toBe(true);
    expect(rows.map((row) => row.source_event_id)).toEqual(rows.map((row) => row.source_event_id).sort());
  });

  it("waits while much is due at its target, unless the target is disabled", async ({
    pool,
    deps,
    claim,
    made,
  }) => {
    await pool.query("update targets set enabled = false");
    await replayBatch(deps, await claim());
    await storeDueItems(pool, { orgId, targetId, count: 200 });
    await replayBatch(deps, await claim());
    expect((await made()).replayed).toBe(50);
    await pool.query("update targets set enabled = true");
    expect(await replayBatch(deps, await claim())).toBe("advanced");
    expect((await made()).replayed).toBe(50);
    await pool.query("truncate deliveries");
    expect(await replayBatch(deps, await claim())).toBe("finished");
  });
});

it("the end of an event is counted once, even by concurrent followers", async ({
  pool,
  queries,
  deps,
  claim,
}) => {
  while ((await replayBatch(deps, await claim())) !== "finished");
  await pool.query(`${settle} from events where replay_id is not null order by id limit 40`);
  await pool.query("update replay_pending set due_at = 0");
  const look = (): Promise<number> =>
    followReplayed(queries, { mailboxRetentionMs: 604_800_000, nowMs: Date.now() });
  const ended = await Promise.all([look(), look(), look(), look()]);
  expect(ended.reduce((sum, count) => sum + count)).toBe(40);
  const { rows } = await pool.query("select failed, delivered, total from replays");
  expect(rows).toEqual([{ failed: 40, delivered: 0, total: items }]);
});
