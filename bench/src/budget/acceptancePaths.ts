import assert from "node:assert/strict";
import { KnownFilters } from "../../../server/src/filters/filter.ts";
import type { ItemDispatcher, ItemSink } from "../../../server/src/intake/dispatchAccepted.ts";
import { createIntake, type Intake } from "../../../server/src/intake/intake.ts";
import { noChanges } from "../../../server/test/support/idleSink.ts";
import type { NewItem } from "../../../server/src/items/item.ts";
import type { Path } from "./path.ts";
import type { World } from "./world.ts";

/** Items per batch: as many as the benchmark's 64 connections send at once. */
export const batchItems = 64;
const publicationTargets = 100;

/** Paths that accept items; the items stay in the database. */
export async function acceptancePaths(world: World): Promise<Path[]> {
  const intake = intakeOf(world, sinkOf());
  const webhook = await world.newTarget("accept");
  const mailbox = await world.newTarget("put", { kind: "mailbox" });
  let keys = 0;
  const accept = (name: string, make: () => NewItem[], outcome: "due" | "unread"): Path => ({
    name,
    items: batchItems,
    run: () => acceptAll(intake, make(), outcome),
  });
  return [
    accept("accept", () => world.batch(webhook, batchItems), "due"),
    accept(
      "accept with idempotency keys",
      () => world.batch(webhook, batchItems, () => ({ idempotencyKey: `key-${++keys}` })),
      "due",
    ),
    accept("put into a mailbox", () => world.batch(mailbox, batchItems), "unread"),
    await publicationPath(world, intake),
  ];
}

async function publicationPath(world: World, intake: Intake): Promise<Path> {
  await world.pool.query(
    "insert into customers (id, org_id, uid, name, metadata, created_at, updated_at) values ($1, $1, 'c', 'c', '{}', 0, 0)",
    [world.orgId],
  );
  for (let n = 0; n < publicationTargets; n++) await world.newTarget(`publish ${n}`, { customer_uid: "c" });
  return {
    name: "publish to 100 webhooks",
    items: publicationTargets,
    async run() {
      const published = await intake.publish({ ...world.content(), customerUid: "c" });
      assert.equal("items" in published && published.items.length, publicationTargets);
    },
  };
}

/** Accepts items as one batch; each must have the given outcome. */
export async function acceptAll(
  intake: Intake,
  items: readonly NewItem[],
  outcome: "due" | "unread" | "leased",
): Promise<void> {
  const acceptances = await Promise.all(items.map((item) => intake.add(item)));
  for (const acceptance of acceptances) assert.equal(acceptance.outcome, outcome);
}

export function intakeOf(world: World, sink: ItemSink): Intake {
  return createIntake(world.pool, sink, {
    maxQueuedBytes: 64 * 1024 * 1024,
    ownerOf: () => world.orgId,
    filters: new KnownFilters(),
  });
}

/** A sink that leaves all items in the database, like a process without the role `dispatcher`; `dispatcher` overrides parts. */
export function sinkOf(dispatcher: Partial<ItemDispatcher> = {}): ItemSink {
  return {
    dispatcher: {
      hasRoom: () => false,
      roomForPublications: () => 0,
      fullTargets: () => [],
      newLease: () => ({ token: 1, durationMs: 30_000 }),
      take: () => assert.fail("nothing was leased"),
      onDue: () => undefined,
      ...dispatcher,
    },
    onMailboxItems: () => undefined,
    changes: noChanges,
    onRefused: (error) => {
      throw error;
    },
    onKeyUsed: () => undefined,
  };
}
