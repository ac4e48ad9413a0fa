import { describe, expect } from "vitest";
import { bucketOf, newId } from "../../postgres/ids.ts";
import { ensurePartitions } from "../../postgres/partitions.ts";
import { type Claim, claimDeliveries, type DeliveryClaimRequest, firstCursor } from "./store.ts";
import { file, databaseTest } from "../../../test/support/fixtures.ts";
import { storeOrganization, storeTarget } from "../../../test/support/storedItems.ts";

const orgId = newId(0, Date.now());

const it = databaseTest()
  /** Creates a target whose position in the circle over all targets follows from its bucket. */
  .extend("makeTarget", file, ({ pool }) => async (bucket: number, version = 0): Promise<string> => {
    const id = newId(bucket, Date.now());
    return storeTarget(pool, orgId, { id, version });
  })
  .extend("target", ({ makeTarget }) => makeTarget(1))
  /** Stores a due item and returns its id. */
  .extend("store", file, ({ pool }) => async (targetId: string, item: Item = {}): Promise<string> => {
    const id = newId(bucketOf(targetId), Date.now());
    const { payload = "{}", kind = 1, attempts = 0, scheduleAttempts = 0 } = item;
    const event = [bucketOf(targetId), kind, targetId, id, orgId];
    await pool.query(
      `insert into events (bucket, kind, max_retries, billable, target_id, id, org_id, payload, event_type, correlation_id)
     values ($1, $2, 8, true, $3, $4, $5, $6, $7, $8)`,
      [...event, Buffer.from(payload), item.eventType ?? null, item.correlationId ?? null],
    );
    await pool.query(
      `insert into deliveries (bucket, kind, target_id, id, org_id, due_at, attempts, schedule_attempts, event_ids)
     values ($1, $2, $3, $4, $5, 1, $6, $7, array[$4::uuid])`,
      [...event, attempts, scheduleAttempts],
    );
    return id;
  })
  .extend(
    "claim",
    file,
    ({ pool }) =>
      (request: Partial<DeliveryClaimRequest> = {}): Promise<Claim> =>
        claimDeliveries(pool, {
          leaseMs: 20_000,
          leaseToken: 2 ** 47 - 1,
          cursor: firstCursor,
          skip: [],
          limit: 100,
          perTarget: 3,
          few: 2,
          wide: [],
          ...request,
        }),
  );

it.beforeAll(async ({ pool }) => {
  await ensurePartitions(pool, Date.now());
  await storeOrganization(pool, orgId);
});

it.beforeEach(async ({ pool }) => {
  await pool.query("delete from deliveries");
});

interface Item {
  payload?: string;
  kind?: 1 | 3;
  attempts?: number;
  scheduleAttempts?: number;
  eventType?: string;
  correlationId?: string;
}

function countByTarget({ deliveries }: Claim): Record<string, number> {
  const counts: Record<string, number> = {};
  for (const { targetId } of deliveries) counts[targetId] = (counts[targetId] ?? 0) + 1;
  return counts;
}

/** Repeats `change` until `work` has ended. */
async function changeUntil(work: Promise<unknown>, change: () => Promise<unknown>): Promise<void> {
  const ended = new AbortController();
  const over = work.finally(() => ended.abort());
  while (!ended.signal.aborted) await change();
  await over;
}

describe("a claim", () => {
  it("returns a delivery's fields as they were stored", async ({ makeTarget, store, claim }) => {
    const plain = await makeTarget(1);
    const changed = await makeTarget(2, 2 ** 40);
    const bare = await store(plain);
    const full = await store(changed, {
      payload: '{"naïve":"✓ \\u0000 😀"}',
      kind: 3,
      attempts: 12,
      scheduleAttempts: 3,
      eventType: "order.paid",
      correlationId: "c-1",
    });
    const before = performance.now();
    const { deliveries } = await claim();
    const common = {
      leaseToken: 2 ** 47 - 1,
      leaseDeadlineMs: expect.any(Number),
      sourceEventId: null,
      webhookId: null,
      traceContext: null,
      span: null,
    };
    expect(deliveries).toEqual([
      {
        ...common,
        eventId: bare,
        rowId: bare,
        targetId: plain,
        kind: 1,
        attempts: 0,
        scheduleAttempts: 0,
        targetVersion: 0,
        payload: Buffer.from("{}"),
        eventType: null,
        correlationId: null,
      },
      {
        ...common,
        eventId: full,
        rowId: full,
        targetId: changed,
        kind: 3,
        attempts: 12,
        scheduleAttempts: 3,
        targetVersion: 2 ** 40,
        payload: Buffer.from('{"naïve":"✓ \\u0000 😀"}'),
        eventType: "order.paid",
        correlationId: "c-1",
      },
    ]);
    expect(deliveries[0]!.leaseDeadlineMs).toBeGreaterThanOrEqual(before + 20_000);
    expect(deliveries[0]!.leaseDeadlineMs).toBeLessThanOrEqual(performance.now() + 20_000);
    expect((await claim()).deliveries).toEqual([]);
  });

  it("skips an item whose event is gone, and does not return another row's item for it", async ({
    target,
    store,
    pool,
    claim,
  }) => {
    const [before, gone, kept] = [await store(target), await store(target), await store(target)].sort();
    await pool.query("delete from deliveries where id = $1", [kept]);
    await pool.query("update deliveries set event_ids = $2, due_at = 2 where id = $1", [gone, [gone, kept]]);
    await pool.query("delete from events where id = $1", [gone]);
    const { deliveries } = await claim({ wide: [target] });
    expect(deliveries.map(({ eventId, rowId }) => ({ eventId, rowId }))).toEqual([
      { eventId: before, rowId: before },
      { eventId: kept, rowId: gone },
    ]);
  });

  it("reads only the targets in `only`", async ({ makeTarget, store, claim }) => {
    const [before, only, after] = [await makeTarget(7), await makeTarget(7), await makeTarget(7)].sort();
    for (const target of [before!, only!, after!])
      for (let count = 0; count < 4; count++) await store(target);
    const request = { only: [only!], wide: [only!] };
    const first = await claim(request);
    expect(countByTarget(first)).toEqual({ [only!]: 3 });
    expect(countByTarget(await claim(request))).toEqual({ [only!]: 1 });
    expect(await claim(request)).toMatchObject({ deliveries: [], isCircleClosed: true });
    // The last target, after which the circle starts again.
    const last = { only: [after!], wide: [after!], perTarget: 100 };
    expect(countByTarget(await claim(last))).toEqual({ [after!]: 4 });
    expect(await claim(last)).toMatchObject({ deliveries: [], isCircleClosed: true });
    expect(countByTarget(await claim())).toEqual({ [before!]: 2 });
  });

  it("takes targets that follow the ones another claim is about to take", async ({
    target,
    store,
    pool,
    claim,
  }) => {
    const ids: string[] = [];
    for (let count = 0; count < 40; count++) ids.push(await store(target));
    await pool.query("update deliveries set due_at = array_position($1, id)", [ids]);
    const other = await pool.connect();
    await other.query("begin");
    await other.query("select from deliveries where due_at <= 30 for update");
    const { deliveries } = await claim({ wide: [target], perTarget: 5 });
    await other.query("rollback");
    other.release();
    expect(deliveries.map(({ eventId }) => eventId)).toEqual(ids.slice(30, 35).sort());
  });

  it("leases every row that it returns, even a row that another transaction changes at the same time", async ({
    makeTarget,
    store,
    pool,
    claim,
  }) => {
    // The rows of the last target are locked last, long after the claim's snapshot was taken.
    const targets: string[] = [];
    for (let bucket = 1; bucket <= 60; bucket++) targets.push(await makeTarget(bucket));
    const last = targets.at(-1)!;
    for (let round = 0; round < 30; round++) {
      await pool.query("delete from deliveries");
      for (const target of targets) await store(target);
      const shared = [await store(last), await store(last)];
      await pool.query("delete from deliveries where id = any ($1)", [shared]);
      await pool.query("update deliveries set event_ids = $2 where target_id = $1", [
        last,
        shared.toSorted(),
      ]);
      const claimed = claim({ leaseToken: round + 1, few: 16 });
      // Changes a row that stays due, as a cancellation or another node's partial claim does.
      const changing = changeUntil(claimed, () =>
        pool.query(
          "update deliveries set event_ids = event_ids where target_id = $1 and lease_until is null",
          [last],
        ),
      );
      const rowIds = new Set((await claimed).deliveries.map(({ rowId }) => rowId));
      await changing;
      const { rows } = await pool.query<{ id: string }>("select id from deliveries where lease_token = $1", [
        round + 1,
      ]);
      expect(new Set(rows.map(({ id }) => id.replaceAll("-", "")))).toEqual(rowIds);
    }
  });

  it("does not report that nothing is due while another claim is running", async ({
    target,
    store,
    pool,
    claim,
  }) => {
    await store(target);
    const request = { only: [target], wide: [target] };
    const other = await pool.connect();
    await other.query("begin");
    await other.query("select from deliveries for update");
    const [alone, circle] = [await claim(request), await claim()];
    await other.query("rollback");
    other.release();
    for (const met of [alone, circle]) expect(met).toMatchObject({ deliveries: [], isCircleClosed: false });
    expect(countByTarget(await claim(request))).toEqual({ [target]: 1 });
  });

  it("takes few items of a normal target, more of a wide one, and none of a skipped one", async ({
    makeTarget,
    store,
    claim,
  }) => {
    const [narrow, wide, skipped] = [await makeTarget(1), await makeTarget(2), await makeTarget(3)];
    for (const target of [narrow, wide, skipped]) for (let count = 0; count < 4; count++) await store(target);
    expect(countByTarget(await claim({ wide: [wide], skip: [skipped] }))).toEqual({ [narrow]: 2, [wide]: 3 });
    expect(countByTarget(await claim())).toEqual({ [narrow]: 2, [wide]: 1, [skipped]: 2 });
  });

  it("takes up to the limit of a wide target from several rows, each item with its own event", async ({
    target,
    makeTarget,
    store,
    pool,
    claim,
  }) => {
    const rows: string[][] = [];
    for (let row = 0; row < 20; row++) {
      const ids: string[] = [];
      for (let item = 0; item < (row === 9 ? 3 : 1); item++) {
        const eventType = `${row}.${item}`;
        ids.push(
          await store(target, { payload: `{"item":"${eventType}"}`, eventType, correlationId: "same" }),
        );
      }
      ids.sort();
      rows.push(ids);
      await pool.query("delete from deliveries where id = any ($1)", [ids.slice(1)]);
      await pool.query("update deliveries set event_ids = $2, due_at = $3 where id = $1", [ids[0], ids, row]);
    }
    const other = await makeTarget(2);
    await store(other);
    const { deliveries, isCircleClosed } = await claim({ wide: [target], perTarget: 21 });
    // The row that reaches the limit is the last one.
    const taken = rows.slice(0, 19);
    const said = new Map(
      deliveries
        .slice(0, -1)
        .map(({ eventId, eventType, correlationId, payload }) => [
          eventId,
          { correlationId, isOwn: payload.toString() === `{"item":"${eventType}"}` },
        ]),
    );
    expect(said).toEqual(
      new Map(taken.flat().map((eventId) => [eventId, { correlationId: "same", isOwn: true }])),
    );
    // The same claim goes on to the next target, because its overall limit was not reached.
    expect(deliveries.at(-1)).toMatchObject({ targetId: other, correlationId: null });
    expect(isCircleClosed).toBe(true);
    expect(countByTarget(await claim({ wide: [target], perTarget: 21 }))).toEqual({ [target]: 1 });
  });

  it("takes no more than the limit over several targets, and leaves the rest to the next claim", async ({
    makeTarget,
    store,
    claim,
  }) => {
    const targets = [await makeTarget(1), await makeTarget(2), await makeTarget(3)];
    // More rows than a claim reads before it leases any.
    for (const target of targets) for (let count = 0; count < 20; count++) await store(target);
    const request = { wide: targets, perTarget: 18, limit: 40 };
    const one = await claim(request);
    expect(countByTarget(one)).toEqual({ [targets[0]!]: 18, [targets[1]!]: 18, [targets[2]!]: 4 });
    expect(one).toMatchObject({ cursor: { bucket: 3, targetId: targets[2] }, isCircleClosed: false });
    const two = await claim({ ...request, limit: 3, cursor: one.cursor });
    expect(countByTarget(two)).toEqual({ [targets[0]!]: 2, [targets[1]!]: 1 });
    expect(two).toMatchObject({ cursor: { bucket: 2, targetId: targets[1] }, isCircleClosed: false });
    const three = await claim({ ...request, cursor: two.cursor });
    expect(countByTarget(three)).toEqual({ [targets[2]!]: 16, [targets[1]!]: 1 });
    expect(three.isCircleClosed).toBe(true);
    expect(await claim(request)).toMatchObject({ deliveries: [], isCircleClosed: true });
  });

  it("starts where the last claim ended, and reports when the circle is closed", async ({
    makeTarget,
    store,
    claim,
  }) => {
    const [first, second] = [await makeTarget(1), await makeTarget(255)];
    for (const target of [first, second]) for (let count = 0; count < 3; count++) await store(target);
    const one = await claim({ limit: 2 });
    expect(countByTarget(one)).toEqual({ [first]: 2 });
    expect(one).toMatchObject({ cursor: { bucket: 1, targetId: first }, isCircleClosed: false });
    const two = await claim({ limit: 2, cursor: one.cursor });
    expect(countByTarget(two)).toEqual({ [second]: 2 });
    expect(two).toMatchObject({ cursor: { bucket: 255, targetId: second }, isCircleClosed: false });
    const three = await claim({ cursor: two.cursor });
    expect(countByTarget(three)).toEqual({ [first]: 1, [second]: 1 });
    expect(await claim()).toMatchObject({ deliveries: [], isCircleClosed: true });
  });
});
