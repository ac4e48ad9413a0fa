import { hash } from "node:crypto";
import type pg from "pg";
import { storeApiKey, storeOrganization, storeTarget } from "../../../server/test/support/storedItems.ts";
import type { NewContent, NewItem } from "../../../server/src/items/item.ts";
import { bucketOf, newId } from "../../../server/src/postgres/ids.ts";
import { dayMs, ensurePartitions } from "../../../server/src/postgres/partitions.ts";
import { itemBody } from "../workload.ts";

/** An organization with its key, and items for its targets. */
export interface World {
  pool: pg.Pool;
  orgId: string;
  key: string;
  /** Stores a target with these columns, a webhook unless they say otherwise, and gives its id. */
  newTarget(name: string, columns?: Readonly<Record<string, unknown>>): Promise<string>;
  /** The content of an item or a publication, of about 500 bytes. */
  content(fields?: Partial<NewContent>): NewContent;
  /** A clock of the run's own, which moves on with each reading. */
  nowMs(): number;
  /** Items of one batch, whose ids ascend and belong to one slot. */
  batch(targetId: string, count: number, fields?: (n: number) => Partial<NewItem>): NewItem[];
}

/** As in `slotOf`: items share a row of `deliveries` only within one slot. */
const slotMs = 1_024;
/** Fills an empty database with an organization. */
export async function createWorld(pool: pg.Pool): Promise<World> {
  const key = `ak_live_${"b".repeat(64)}`;
  const orgId = await storeOrganization(pool, newId(0, Date.now()));
  await storeApiKey(pool, orgId, key);
  await ensurePartitions(pool, Date.now());
  // Yesterday at noon: no run reaches the end of a day, where the next partition begins.
  let slot = Math.floor((Math.floor(Date.now() / dayMs - 1) + 0.5) * (dayMs / slotMs));
  const content = (fields: Partial<NewContent> = {}): NewContent => ({
    key,
    payload: Buffer.from(itemBody),
    eventType: "order.created",
    correlationId: null,
    orderingKey: null,
    idempotencyKey: null,
    traceContext: null,
    ...fields,
  });
  return {
    pool,
    orgId,
    key,
    content,
    // Never back, and not to the end of the slot of the last batch.
    nowMs: () => ++slot * slotMs,
    newTarget: (name, columns = {}) => storeTarget(pool, orgId, { id: targetId(name), name, ...columns }),
    batch(targetId, count, fields = () => ({})) {
      const startMs = ++slot * slotMs;
      // A clock of its own: with the time of day, some batches would be divided at the end of a slot.
      return Array.from({ length: count }, (_, n) => ({
        ...content(),
        id: newId(bucketOf(targetId), startMs + n),
        targetId,
        legacy: false,
        match: null,
        ...fields(n),
      }));
    },
  };
}

/** The same in each run: which pages of an index are divided depends on the order of the targets' ids. */
function targetId(name: string): string {
  const digits = hash("sha256", name);
  return `019ab0000000700080${digits.slice(0, 12)}0${digits.slice(12, 13)}`;
}
