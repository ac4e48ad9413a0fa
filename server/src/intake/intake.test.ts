import { describe, expect } from "vitest";
import { databaseTest } from "../../test/support/fixtures.ts";
import { idleSink } from "../../test/support/idleSink.ts";
import { newItem } from "../../test/support/directItems.ts";
import { countLockWaits, holdTable } from "../../test/support/heldLocks.ts";
import { storeApiKey, storeOrganization, storeTarget } from "../../test/support/storedItems.ts";
import { until } from "../../test/support/until.ts";
import { KnownFilters } from "../filters/filter.ts";
import { unknownId } from "../postgres/ids.ts";
import { ensurePartitions } from "../postgres/partitions.ts";
import { Turns } from "../runtime/turns.ts";
import { createIntake } from "./intake.ts";
import type { Published } from "./publishItems.ts";

const it = databaseTest({ poolSize: 4 });
const key = `ak_live_${"c".repeat(64)}`;
const manyKey = `ak_live_${"e".repeat(64)}`;
const otherKey = `ak_live_${"d".repeat(64)}`;

it.beforeAll(({ pool }) => ensurePartitions(pool, Date.now()));

describe("items of a mailbox whose consumers are behind", () => {
  it("wait until a message is consumed, while items of other targets do not wait", async ({ pool }) => {
    const orgId = await storeOrganization(pool);
    await storeApiKey(pool, orgId, key);
    const [busyId, otherId] = [
      await storeTarget(pool, orgId, { kind: "mailbox" }),
      await storeTarget(pool, orgId, { kind: "mailbox" }),
    ];
    // Longer than a put takes on a busy machine.
    const turns = new Turns({ patienceMs: 60_000 });
    let consumed = 0;
    const intake = createIntake(pool, idleSink, {
      maxQueuedBytes: 1_000_000,
      ownerOf: () => "",
      filters: new KnownFilters(),
      consumers: { turns, isBusy: (id) => id === busyId, isBehind: () => true, consumed: () => consumed },
    });
    const order: string[] = [];
    const put = async (targetId: string, name: string) => {
      const { outcome } = await intake.add({ ...newItem(key, targetId), payload: Buffer.from("{}") });
      expect(outcome).toBe("unread");
      order.push(name);
    };
    await put(busyId, "first");

    // A batch of consumers is in progress.
    turns.begin(() => undefined);
    const held = put(busyId, "held");
    expect(intake.pending()).toBe(1);
    await put(otherId, "another mailbox's");
    expect(intake.waiting()).toEqual({ count: 1, bytes: 2 });
    consumed++;
    turns.end();
    await held;
    expect(order).toEqual(["first", "another mailbox's", "held"]);
    await intake.drained();
    expect(intake.pending()).toBe(0);
  });
});

describe("publications that wait for their batch", () => {
  it("fill a batch by the items that they probably become", async ({ pool }) => {
    const orgId = await storeOrganization(pool);
    await storeApiKey(pool, orgId, manyKey);
    for (let targets = 0; targets < 1_000; targets++) await storeTarget(pool, orgId, { kind: "mailbox" });
    const intake = createIntake(pool, idleSink, {
      maxQueuedBytes: 67_108_864,
      ownerOf: () => "",
      filters: new KnownFilters(),
    });
    const publish = (): Promise<Published> =>
      intake.publish({ ...newItem(manyKey, unknownId), customerUid: null, payload: Buffer.from("{}") });
    await publish();
    const release = await holdTable(pool, "publications");
    const first = publish();
    await until(() => countLockWaits(pool));
    const others = Array.from({ length: 6 }, publish);
    // Two full batches of two publications have begun beside the first one.
    await until(() => intake.waiting().count === 2);
    await release();
    for (const published of await Promise.all([first, ...others])) {
      expect(published).toMatchObject({ outcome: "accepted", items: { length: 1_000 } });
    }
  });

  it("are counted with the items that wait", async ({ pool }) => {
    await storeApiKey(pool, await storeOrganization(pool), otherKey);
    const intake = createIntake(pool, idleSink, {
      maxQueuedBytes: 1_000_000,
      ownerOf: () => "",
      filters: new KnownFilters(),
    });
    const release = await holdTable(pool, "publications");
    const publish = (): Promise<Published> =>
      intake.publish({ ...newItem(otherKey, unknownId), customerUid: null, payload: Buffer.from("{}") });
    const first = publish();
    await until(() => countLockWaits(pool));
    const second = publish();
    await until(() => intake.pending() === 2);
    expect(intake.waiting()).toEqual({ count: 1, bytes: 2 });
    await release();
    expect((await Promise.all([first, second])).map(({ outcome }) => outcome)).toEqual([
      "accepted",
      "accepted",
    ]);
    await intake.drained();
    expect(intake.pending()).toBe(0);
  });
});
