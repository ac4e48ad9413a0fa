import { readFile } from "node:fs/promises";
import { setImmediate as turn } from "node:timers/promises";
import type pg from "pg";
import { expect } from "vitest";
import { newRootId } from "../src/postgres/ids.ts";
import { ensurePartitions } from "../src/postgres/partitions.ts";
import { KnownFilters } from "../src/filters/filter.ts";
import { acceptItems } from "../src/intake/acceptItems.ts";
import { createIntake, type Intake } from "../src/intake/intake.ts";
import type { Published } from "../src/intake/publishItems.ts";
import type { Acceptance, UnmatchedItem } from "../src/items/item.ts";
import { createRandom } from "./support/billing/random.ts";
import { until } from "./support/until.ts";
import { storeApiKey, storeOrganization, storeTarget } from "./support/storedItems.ts";
import { databaseTest, testPool } from "./support/fixtures.ts";
import { newItem } from "./support/directItems.ts";
import { idleSink } from "./support/idleSink.ts";

/*
 * Keys are partitioned by day, so around midnight one key belongs to two days. Here each session has its own
 * clock, which accept_items reads instead of the database's; the clocks of overlapping statements differ by at
 * most 30 s, the statement timeout.
 */
const dayMs = 86_400_000;
const midnightMs = (Math.floor(Date.now() / dayMs) + 1) * dayMs;
const apiKey = `ak_live_${"a".repeat(64)}`;
const targetId = newRootId(Date.now());
/** Connections with the database's clock. */
let admin: pg.Pool;
const sessions: Session[] = [];

const it = databaseTest({ poolSize: 4 });

/** A connection whose clock stays at the time that is set. */
class Session {
  readonly pool: pg.Pool;
  #intake: Intake | undefined;

  constructor(pool: pg.Pool) {
    this.pool = pool;
  }

  /** Accepts items with these keys in one batch, at `atMs` after midnight. */
  async accept(atMs: number, keys: string[], body = "1"): Promise<(Acceptance | UnmatchedItem)[]> {
    await this.setClock(atMs);
    return acceptItems(
      this.pool,
      keys.map((idempotencyKey) => ({
        ...newItem(apiKey, targetId),
        payload: Buffer.from(body),
        idempotencyKey,
      })),
      { token: 1, durationMs: 1000, deadlineMs: 0 },
      () => false,
    );
  }

  /** Publishes to no targets under this key, at `atMs` after midnight. */
  async publish(atMs: number, idempotencyKey: string, body = "1"): Promise<Published> {
    await this.setClock(atMs);
    this.#intake ??= createIntake(this.pool, idleSink, {
      maxQueuedBytes: 1_000_000,
      ownerOf: () => "",
      filters: new KnownFilters(),
    });
    return this.#intake.publish({
      key: apiKey,
      customerUid: null,
      payload: Buffer.from(body),
      eventType: null,
      correlationId: null,
      orderingKey: null,
      traceContext: null,
      idempotencyKey,
    });
  }

  async setClock(atMs: number): Promise<void> {
    await this.pool.query(`set test.now_ms = '${midnightMs + atMs}'`);
  }
}

it.beforeAll(async ({ database, pool }) => {
  admin = pool;
  await admin.query(
    `create function test_now() returns timestamptz language sql stable as
     $$ select to_timestamp(current_setting('test.now_ms')::bigint / 1000.0) $$`,
  );
  for (const name of ["intake/accept_items", "publish/publish_items"]) await setBack(name);
  await ensurePartitions(admin, Date.now() + dayMs);
  const orgId = await storeOrganization(admin);
  await storeApiKey(admin, orgId, apiKey);
  await storeTarget(admin, orgId, { id: targetId });
  for (let count = 0; count < 4; count++) {
    sessions.push(new Session(testPool(database, 1)));
  }
});

/** Makes a function read the clock of its session. */
async function setBack(name: string): Promise<void> {
  const source = await readFile(new URL(`../src/postgres/sql/${name}.sql`, import.meta.url), "utf8");
  const clocked = source
    .replaceAll("create function", "create or replace function")
    .replaceAll("clock_timestamp()", "test_now()");
  if (!clocked.includes("test_now()")) throw new Error(`${name} has another clock now`);
  await admin.query(clocked);
}

it.afterAll(() => Promise.all(sessions.map(({ pool }) => pool.end())));

/** Expects that each key was accepted once: one stored event, whose id the repetitions return. */
async function expectOneItem(
  keys: string[],
  answers: { key: string; acceptance: Acceptance | UnmatchedItem }[],
): Promise<void> {
  for (const key of keys) {
    const ofKey = answers.filter((answer) => answer.key === key).map((answer) => answer.acceptance);
    expect(ofKey.filter(({ outcome }) => outcome === "due")).toHaveLength(1);
    const ids = new Set(ofKey.map((acceptance) => "id" in acceptance && acceptance.id));
    expect(ids.size).toBe(1);
    const { rowCount } = await admin.query("select from events where id = $1", [...ids]);
    expect(rowCount).toBe(1);
  }
}

/**
 * Repeats each request for as long as the key may be remembered: the answer never names an item that does not
 * exist.
 */
async function expectNoPhantom(keys: string[]): Promise<void> {
  for (const atMs of [
    59_000,
    61_000,
    3_600_000,
    dayMs - 61_000,
    dayMs - 59_000,
    dayMs + 59_000,
    dayMs + 61_000,
  ]) {
    for (const acceptance of await sessions[0]!.accept(atMs, keys)) {
      if (acceptance.outcome === "due") continue;
      if (acceptance.outcome !== "replayed") throw new Error(`the key was ${acceptance.outcome}`);
      const { rowCount } = await admin.query("select from events where id = $1", [acceptance.id]);
      expect([atMs, rowCount]).toEqual([atMs, 1]);
    }
  }
}

let keyCount = 0;
function newKeys(count: number): string[] {
  return Array.from({ length: count }, () => `key-${++keyCount}`);
}

/**
 * Two sessions use one key simultaneously: the first has stored it without a commit when the second asks, with
 * clocks that a slow statement makes possible.
 */
const edges = [
  ["before the minute in which both days are written", -60_100, -59_900],
  ["the later one having started first", -59_900, -60_100],
  ["at midnight", -50, 50],
  ["after the minute", 59_900, 60_100],
  ["after the minute, the earlier clock coming last", 60_100, 59_900],
] as const;

it.each(edges)("two sessions %s create one item", async (_what, firstAtMs, secondAtMs) => {
  const [first, second] = sessions as [Session, Session];
  const [key] = newKeys(1) as [string];
  await first.pool.query("begin");
  const [winner] = await first.accept(firstAtMs, [key]);
  const waiting = second.accept(secondAtMs, [key]);
  await untilOneWaits();
  await first.pool.query("commit");
  const [loser] = await waiting;
  expect([winner!.outcome, loser!.outcome]).toEqual(["due", "replayed"]);
  await expectOneItem(
    [key],
    [winner!, loser!].map((acceptance) => ({ key, acceptance })),
  );
  await expectNoPhantom([key]);
});

it("one batch that contains a key twice creates one item", async () => {
  for (const atMs of [-30_000, 0, 30_000]) {
    const keys = newKeys(20);
    const batch = [...keys, ...keys.toReversed(), ...keys];
    const answers = await sessions[0]!.accept(atMs, batch);
    await expectOneItem(
      keys,
      answers.map((acceptance, index) => ({ key: batch[index]!, acceptance })),
    );
    await expectNoPhantom(keys);
  }
});

it("batches that overlap at any clock create one item per key, and a different body is refused", async () => {
  const random = createRandom(2026);
  for (let round = 0; round < 12; round++) {
    const edgeMs = [-60_000, 0, 60_000][round % 3]!;
    const keys = newKeys(10);
    const answers: { key: string; acceptance: Acceptance | UnmatchedItem }[] = [];
    await Promise.all(
      sessions.map(async (session, index) => {
        const batch = random.shuffle(keys);
        const atMs = edgeMs - 12_000 + index * 8_000;
        for (let turns = random.integer(0, 3); turns > 0; turns--) await turn();
        const got = await session.accept(atMs, batch);
        answers.push(...got.map((acceptance, place) => ({ key: batch[place]!, acceptance })));
      }),
    );
    await expectOneItem(keys, answers);
    const conflicts = await sessions[1]!.accept(edgeMs, keys, "2");
    expect(conflicts).toEqual(keys.map(() => ({ outcome: "idempotency_conflict" })));
    await expectNoPhantom(keys);
  }
});

async function untilOneWaits(): Promise<void> {
  await until(async () => {
    const { rowCount } = await admin.query("select from pg_locks where not granted");
    return rowCount! > 0;
  });
}

it.each(edges)("two sessions %s create one publication", async (_what, firstAtMs, secondAtMs) => {
  const [first, second] = sessions as [Session, Session];
  const [key] = newKeys(1) as [string];
  // Both sessions have published before, so that only the key's own row can block them.
  for (const session of [first, second]) await session.publish(firstAtMs, newKeys(1)[0]!);
  await first.pool.query("begin");
  const winner = await first.publish(firstAtMs, key);
  const waiting = second.publish(secondAtMs, key);
  await untilOneWaits();
  await first.pool.query("commit");
  const loser = await waiting;
  expect([winner.outcome, loser.outcome]).toEqual(["accepted", "replayed"]);
  if (!("id" in winner)) throw new Error(`the publication was ${winner.outcome}`);
  expect(winner.items).toHaveLength(1);
  expect(loser).toMatchObject({ id: winner.id, items: winner.items });
  const { rows } = await admin.query("select event_ids from publications where id = $1", [winner.id]);
  expect(rows).toEqual([{ event_ids: winner.items.map(({ id }) => id) }]);
  // Repeats the request for as long as the key may be remembered: the answer never names a publication that does
  // not exist.
  for (const atMs of [59_000, 61_000, 3_600_000, dayMs - 61_000, dayMs + 61_000]) {
    const again = await first.publish(atMs, key);
    if (again.outcome === "accepted") break;
    expect([atMs, again]).toEqual([atMs, loser]);
  }
  expect((await second.publish(secondAtMs, key, "2")).outcome).toBe("idempotency_conflict");
});
