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
  /** Stores a target with these columns, by default a webhook; returns its id. */
  newTarget(name: string, columns?: Readonly<Record<string, unknown>>): Promise<string>;
  /** The content of an item or a publication, of about 500 bytes. */
  content(fields?: Partial<NewContent>): NewContent;
  /** The run's own clock, in Unix milliseconds; each reading advances it. */
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
  // Starts at noon of yesterday, so that no run reaches the end of a day and thereby the next partition.
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
    // Begins a new slot, which is later than all ids of the batches before.
    nowMs: () => ++slot * slotMs,
    newTarget: (name, columns = {}) => storeTarget(pool, orgId, { id: targetId(name), name, ...columns }),
    batch(targetId, count, fields = () => ({})) {
      const startMs = ++slot * slotMs;
      // Not the time of day: some batches would cross the end of a slot and become two rows.
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

/** Derives an id from the name, so that it is the same in each run: the order of ids decides which index pages split. */
function targetId(name: string): string {
  const digits = hash("sha256", name);
  return `019ab0000000700080${digits.slice(0, 12)}0${digits.slice(12, 13)}`;
}
