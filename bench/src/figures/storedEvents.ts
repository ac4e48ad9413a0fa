import { randomFillSync } from "node:crypto";
import { Readable } from "node:stream";
import { pipeline } from "node:stream/promises";
import pg from "pg";
import { rowsInto } from "../../../server/src/postgres/copyStreams.ts";
import { bucketOf } from "../../../server/src/postgres/ids.ts";
import { dayMs, ensurePartitions } from "../../../server/src/postgres/partitions.ts";
import { array, copyEnd, copyStart, firstFieldAt, int2, int4, int8, row } from "./copyFormat.ts";

export interface Owners {
  orgId: string;
  /** Events go to the targets in turn. */
  targets: readonly string[];
}

const days = 7;
/** Events per row of delivered_groups; their ids belong to one slot. */
const groupSize = 50;
const slotMs = 1_024;
const gapMs = 20;
const groupsInStep = 2_000;
const sessions = 2;
const payload = Buffer.from(JSON.stringify({ event_type: "order.created", data: "x".repeat(160) }));

/**
 * Stores delivered events by COPY, evenly over the last seven days, each with the record of its attempt. The rows are in the
 * write-ahead log and in the indexes like rows that the service writes, so measurements run on the same tables; only statistics
 * and usage do not count them. Ten million events take about 6 GB.
 * @param onStored Called from time to time with the number of stored events.
 * @returns the number of stored events, a multiple of the group size.
 */
export async function storeEvents(
  connection: pg.PoolConfig,
  owners: Owners,
  count: number,
  onStored: (events: number) => void,
): Promise<number> {
  const pool = new pg.Pool({ ...connection, max: sessions });
  try {
    await ensurePartitions(pool, Date.now() - (days - 1) * dayMs);
    await ensurePartitions(pool, Date.now());
    const plan = planOf(owners, Math.ceil(count / groupSize));
    let next = 0;
    let stored = 0;
    const work = async (): Promise<void> => {
      const client = await pool.connect();
      await client.query("set statement_timeout = 0; set synchronous_commit = off");
      while (next < plan.groups) {
        const first = next;
        next = Math.min(plan.groups, first + groupsInStep);
        const groups = groupsOf(plan, first, next);
        await pipeline(Readable.from(eventRows(groups)), rowsInto(client, eventsInto));
        await pipeline(Readable.from(deliveredRows(plan, groups)), rowsInto(client, deliveredInto));
        stored += groups.length * groupSize;
        onStored(stored);
      }
      client.release(true);
    };
    await Promise.all(Array.from({ length: sessions }, work));
    await settle(pool);
    return stored;
  } finally {
    await pool.end();
  }
}

const eventsInto = "events (id, bucket, kind, max_retries, billable, target_id, org_id, event_type, payload)";
const deliveredInto =
  "delivered_groups (bucket, target_id, org_id, last_id, event_ids, status_codes, durations_ms, attempted_at)";

/** Vacuums the tables and writes a checkpoint, so that this work does not happen during the measurement. */
async function settle(pool: pg.Pool): Promise<void> {
  const client = await pool.connect();
  await client.query("set statement_timeout = 0");
  for (const statement of ["vacuum (analyze) events", "vacuum (analyze) delivered_groups", "checkpoint"])
    await client.query(statement);
  client.release(true);
}

interface Plan {
  groups: number;
  fromMs: number;
  stepMs: number;
  org: Buffer;
  targets: readonly Target[];
}

interface Target {
  id: Buffer;
  bucket: number;
  /** A row of `events` whose id is still zero. */
  event: Buffer;
}

function planOf({ orgId, targets }: Owners, groups: number): Plan {
  const untilMs = Date.now() - 60_000;
  const org = Buffer.from(orgId, "hex");
  return {
    groups,
    fromMs: untilMs - days * dayMs,
    stepMs: (days * dayMs) / groups,
    org,
    targets: targets.map((hex) => {
      const [id, bucket] = [Buffer.from(hex, "hex"), bucketOf(hex)];
      return { id, bucket, event: eventRow(id, bucket, org) };
    }),
  };
}

function eventRow(target: Buffer, bucket: number, org: Buffer): Buffer {
  const [webhook, retries, billable] = [int2(1), int2(8), Buffer.of(0)];
  const type = Buffer.from("order.created");
  return row([Buffer.alloc(16), int2(bucket), webhook, retries, billable, target, org, type, payload]);
}

/** Events of one target that were recorded together. */
interface Group {
  target: Target;
  firstMs: number;
  /** Ascending. */
  ids: Buffer[];
}

function groupsOf({ fromMs, stepMs, targets }: Plan, first: number, end: number): Group[] {
  return Array.from({ length: end - first }, (_, index) => {
    const number = first + index;
    const target = targets[number % targets.length]!;
    const firstMs = Math.floor((fromMs + number * stepMs) / slotMs) * slotMs;
    return { target, firstMs, ids: idsOf(firstMs, target.bucket) };
  });
}

/** Ids in the format of `newId`, as bytes. */
function idsOf(firstMs: number, bucket: number): Buffer[] {
  const bytes = randomFillSync(Buffer.allocUnsafe(groupSize * 16));
  return Array.from({ length: groupSize }, (_, n) => {
    const id = bytes.subarray(n * 16, n * 16 + 16);
    id.writeUIntBE(firstMs + n * gapMs, 0, 6);
    id[6] = (id[6]! & 0x0f) | 0x70;
    id[8] = (id[8]! & 0x3f) | 0x80;
    id[15] = bucket;
    return id;
  });
}

function* eventRows(groups: readonly Group[]): Generator<Buffer> {
  yield copyStart;
  for (const { target, ids } of groups) {
    const rows = Buffer.concat(ids.map(() => target.event));
    for (const [n, id] of ids.entries()) id.copy(rows, n * target.event.length + firstFieldAt);
    yield rows;
  }
  yield copyEnd;
}

function* deliveredRows({ org }: Plan, groups: readonly Group[]): Generator<Buffer> {
  yield copyStart;
  for (const { target, ids, firstMs } of groups) {
    const [statuses, durations] = [ids.map(() => int2(200)), ids.map(() => int4(5))];
    const times = ids.map((_, n) => int8(firstMs + n * gapMs));
    yield row([
      int2(target.bucket),
      target.id,
      org,
      ids.at(-1)!,
      array("uuid", ids),
      array("int2", statuses),
      array("int4", durations),
      array("int8", times),
    ]);
  }
  yield copyEnd;
}
