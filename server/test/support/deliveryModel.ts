import assert from "node:assert/strict";
import fc from "fast-check";
import type pg from "pg";
import { newId, newRootId, slotOf } from "../../src/postgres/ids.ts";
import type { Delivery } from "../../src/items/delivery.ts";
import {
  claimDeliveries,
  finishDeliveries,
  firstCursor,
  releaseDeliveries,
} from "../../src/delivery/rows/store.ts";
import { acceptItems } from "../../src/intake/acceptItems.ts";
import type { NewItem } from "../../src/items/item.ts";
import { everyAttempt } from "./everyAttempt.ts";
import { attemptOf, newItem } from "./directItems.ts";
import { sweepDeliveries } from "../../src/delivery/rows/sweepDeliveries.ts";

const key = `ak_live_${"1".repeat(64)}`;
const leaseMs = 60_000;
let lastToken = 0;

type Outcome = 1 | 2 | 3;

/** The calls of one node's delivery, without the node, for an organization with two targets. */
export interface Player {
  pool: pg.Pool;
  targets: [string, string];
  item: (targetId: string, atMs?: number) => NewItem;
  /** Accepts items as one batch; returns those leased to the caller. */
  accept: (items: NewItem[], isImmediate: (item: NewItem) => boolean) => Promise<Delivery[]>;
  claim: (isWide: boolean, limit: number) => Promise<Delivery[]>;
  finish: (deliveries: readonly Delivery[], outcomes: readonly Outcome[]) => Promise<boolean[]>;
}

export async function createPlayer(pool: pg.Pool): Promise<Player> {
  const orgId = newRootId(Date.now());
  const targets: [string, string] = [newId(7, Date.now()), newId(200, Date.now())];
  await pool.query("insert into organizations values ($1, 'o', 'o', 'active', null, 0)", [orgId]);
  await pool.query(
    `insert into api_keys (id, org_id, name, key_hash, prefix, created_at)
     values ($1, $2, 'k', sha256(convert_to($3, 'UTF8')), 'ak', 0)`,
    [newRootId(Date.now()), orgId, key],
  );
  await pool.query(
    `insert into targets (id, org_id, kind, name, url, secret, created_at, updated_at)
     select id, $2, 'webhook', 't', 'https://example.com/', '\\x00', 0, 0
     from unnest($1::uuid[]) as id`,
    [targets, orgId],
  );
  return {
    pool,
    targets,
    item: (targetId, atMs) => newItem(key, targetId, atMs),
    async accept(items, isImmediate) {
      const lease = newLease();
      const acceptances = await acceptItems(pool, items, lease, isImmediate);
      return items.flatMap((item, index) => {
        const acceptance = acceptances[index]!;
        if (acceptance.outcome !== "leased") return [];
        const { kind, rowId, targetVersion } = acceptance;
        const { id: eventId, targetId, payload, eventType, correlationId } = item;
        const held = {
          sourceEventId: null,
          webhookId: null,
          traceContext: null,
          span: null,
          attempts: 0,
          scheduleAttempts: 0,
          leaseToken: lease.token,
          leaseDeadlineMs: lease.deadlineMs,
        };
        return [
          { ...held, eventId, rowId, targetId, kind, targetVersion, payload, eventType, correlationId },
        ];
      });
    },
    async claim(isWide, limit) {
      const { deliveries } = await claimDeliveries(pool, {
        leaseMs,
        leaseToken: ++lastToken,
        cursor: firstCursor,
        skip: [],
        limit: 200,
        perTarget: limit,
        few: limit,
        wide: isWide ? targets : [],
      });
      return deliveries;
    },
    finish: (deliveries, outcomes) =>
      finishDeliveries(
        pool,
        deliveries.map((delivery, index) => attemptOf(delivery, outcomes[index % outcomes.length]!)),
      ),
  };
}

export function newLease(): { token: number; durationMs: number; deadlineMs: number } {
  return { token: ++lastToken, durationMs: leaseMs, deadlineMs: performance.now() + leaseMs };
}

export interface StoredRow {
  id: string;
  ids: string[];
  attempts: number;
  leaseToken: number | null;
}

export async function storedRows(pool: pg.Pool): Promise<StoredRow[]> {
  const { rows } = await pool.query<StoredRow>(
    `select id, event_ids::text[] as ids, attempts, lease_token as "leaseToken"
     from deliveries`,
  );
  for (const row of rows) row.ids = row.ids.map((id) => id.replaceAll("-", ""));
  return rows;
}

/** Due items by id, with their number of attempts and their lease token. */
type Due = Map<string, { attempts: number; token: number | null }>;

/** The expected contents of the database. */
export interface Holdings {
  due: Due;
  attempts: number;
}

/** @throws when an item is in two rows, or a row is inconsistent. */
export async function holdingsOf(pool: pg.Pool): Promise<Holdings> {
  const due: Due = new Map();
  for (const row of await storedRows(pool)) {
    assert.deepEqual(row.ids, row.ids.toSorted());
    assert.equal(new Set(row.ids.map(slotOf)).size, 1, "a row keeps to one slot");
    for (const id of row.ids) {
      assert.ok(!due.has(id), "an item is in one row");
      due.set(id, { attempts: row.attempts, token: row.leaseToken });
    }
  }
  const { rows } = await pool.query<{ count: number }>(
    `select count(*)::integer as count from ${everyAttempt}`,
  );
  return { due, attempts: rows[0]!.count };
}

export type Step =
  | { do: "accept"; count: number; apartMs: number; immediate: boolean }
  | { do: "claim"; wide: boolean; limit: number }
  | { do: "finish"; every: number; outcomes: Outcome[] }
  | { do: "finish again"; every: number }
  | { do: "release"; every: number }
  | { do: "lapse" };

const every = fc.integer({ min: 1, max: 4 });

/** Any step that can happen to items between their acceptance and their end. */
export const anyStep: fc.Arbitrary<Step> = fc.oneof(
  fc.record({
    do: fc.constant("accept" as const),
    count: fc.integer({ min: 1, max: 90 }),
    apartMs: fc.constantFrom(0, 0, 40),
    immediate: fc.boolean(),
  }),
  fc.record({
    do: fc.constant("claim" as const),
    wide: fc.boolean(),
    limit: fc.integer({ min: 1, max: 70 }),
  }),
  fc.record({
    do: fc.constant("finish" as const),
    every,
    outcomes: fc.array(fc.constantFrom<Outcome>(1, 1, 2, 3), { minLength: 1, maxLength: 5 }),
  }),
  fc.record({ do: fc.constant("finish again" as const), every }),
  fc.record({ do: fc.constant("release" as const), every }),
  fc.constant<Step>({ do: "lapse" }),
);

/** Runs steps, and computes the expected contents of the database after each. */
export class DeliveryModel {
  readonly #player: Player;
  readonly expected: Holdings = { due: new Map(), attempts: 0 };
  #held: Delivery[] = [];
  /** Deliveries whose lease has ended. */
  readonly #stale: Delivery[] = [];

  constructor(player: Player) {
    this.#player = player;
  }

  /** @throws when a call has a wrong result. */
  async run(step: Step): Promise<void> {
    switch (step.do) {
      case "accept":
        return this.#accept(step.count, step.apartMs, step.immediate);
      case "claim":
        return this.#claim(step.wide, step.limit);
      case "finish":
        return this.#finish(this.#take(step.every), step.outcomes);
      case "finish again":
        return this.#finishAgain(step.every);
      case "release":
        return this.#release(this.#take(step.every));
      case "lapse":
        return this.#lapse();
    }
  }

  async #accept(count: number, apartMs: number, immediate: boolean): Promise<void> {
    const { targets, item, accept } = this.#player;
    const items = Array.from({ length: count }, (_, n) =>
      item(targets[n % 3 === 0 ? 0 : 1], Date.now() + n * apartMs),
    );
    this.#putBack(items.map(({ id }) => ({ eventId: id, attempts: 0 })));
    this.#hold(await accept(items, () => immediate));
  }

  async #claim(wide: boolean, limit: number): Promise<void> {
    const claimed = await this.#player.claim(wide, limit);
    for (const target of this.#player.targets) {
      const count = claimed.filter(({ targetId }) => targetId === target).length;
      // A claim for wide targets gets whole rows, which may exceed the limit by 63.
      assert.ok(count <= limit + (wide ? 63 : 0), "a claim keeps to its limit");
    }
    const isAnyDue = [...this.expected.due.values()].some(({ token }) => token === null);
    assert.equal(claimed.length > 0, isAnyDue);
    this.#hold(claimed);
  }

  async #finish(taken: Delivery[], outcomes: readonly Outcome[]): Promise<void> {
    if (taken.length === 0) return;
    assert.deepEqual(
      await this.#player.finish(taken, outcomes),
      taken.map(() => true),
    );
    for (const [index, { eventId, attempts }] of taken.entries()) {
      const isAgain = outcomes[index % outcomes.length] === 2;
      if (isAgain) this.#putBack([{ eventId, attempts: attempts + 1 }]);
      else this.expected.due.delete(eventId);
    }
    this.expected.attempts += taken.length;
    this.#stale.push(...taken);
  }

  /** Together with current deliveries, as when the answer to a first call was lost. */
  async #finishAgain(every: number): Promise<void> {
    const held = this.#take(2);
    const mixed = [...held, ...this.#stale.filter((_delivery, index) => index % every === 0)];
    if (mixed.length === 0) return;
    mixed.sort((one, other) => (one.eventId < other.eventId ? -1 : 1));
    assert.deepEqual(
      await this.#player.finish(mixed, [1]),
      mixed.map((delivery) => held.includes(delivery)),
    );
    for (const { eventId } of held) this.expected.due.delete(eventId);
    this.expected.attempts += held.length;
  }

  async #release(taken: Delivery[]): Promise<void> {
    await releaseDeliveries(this.#player.pool, [...taken, ...this.#stale]);
    this.#putBack(taken);
    this.#stale.push(...taken);
  }

  async #lapse(): Promise<void> {
    const { pool } = this.#player;
    await pool.query("update deliveries set lease_until = 1 where lease_until is not null");
    const taken = this.#take(1);
    assert.equal(await sweepDeliveries(pool), taken.length);
    this.#putBack(taken);
    this.#stale.push(...taken);
  }

  #hold(deliveries: readonly Delivery[]): void {
    this.#held.push(...deliveries);
    for (const { eventId, attempts, leaseToken } of deliveries) {
      assert.deepEqual(
        this.expected.due.get(eventId),
        { attempts, token: null },
        "only what is free is leased",
      );
      this.expected.due.set(eventId, { attempts, token: leaseToken });
    }
  }

  #putBack(items: readonly { eventId: string; attempts: number }[]): void {
    for (const { eventId, attempts } of items) this.expected.due.set(eventId, { attempts, token: null });
  }

  /** Takes every `every`th of the held deliveries. */
  #take(every: number): Delivery[] {
    const taken = this.#held.filter((_delivery, index) => index % every === 0);
    this.#held = this.#held.filter((_delivery, index) => index % every !== 0);
    return taken;
  }
}
