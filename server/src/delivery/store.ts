import type pg from "pg";
import {
  type BinaryParameter,
  byteaArray,
  int2Array,
  int4Array,
  int8Array,
  textArray,
  uuidArray,
} from "../db/binaryArray.ts";
import { callFunction } from "../db/callFunction.ts";
import { bucketOf, idTimeMs, newId } from "../db/ids.ts";
import type { Delivery } from "./delivery.ts";

/** Where a node is in its circle over the waiting targets. */
export interface ClaimCursor {
  bucket: number;
  targetId: string;
}

export const firstCursor: ClaimCursor = { bucket: -1, targetId: "0".repeat(32) };

export interface ClaimRequest {
  leaseMs: number;
  leaseToken: number;
  cursor: ClaimCursor;
  /** Targets for which this node has no room. */
  skip: readonly string[];
  limit: number;
  /** The most of one target when it is in `wide`, and when it is not. */
  perTarget: number;
  few: number;
  /** Targets that have shown that they take many at a time. */
  wide: readonly string[];
}

interface ClaimRow {
  row_id: string;
  event_id: string;
  target_id: string;
  kind: 0 | 1 | 3;
  attempts: number;
  schedule_attempts: number;
  target_version: number;
  event_type: string | null;
  correlation_id: string | null;
  payload: string;
}

/** How many waiting targets one claim looks at: it bounds what a claim costs when most wait for a later moment. */
const maxTargetsPerClaim = 200;

export interface Claim {
  deliveries: Delivery[];
  /** Where the next claim goes on. */
  cursor: ClaimCursor;
  /** Whether every waiting target was looked at, so that nothing else is due now. */
  isCircleClosed: boolean;
}

/** Leases due deliveries to the caller, a few from each target, going on from `cursor`. */
export async function claimDeliveries(pool: pg.Pool, request: ClaimRequest): Promise<Claim> {
  const leaseDeadlineMs = performance.now() + request.leaseMs;
  const rows = await callFunction<ClaimRow>(pool, {
    name: "claim_deliveries",
    text: `select row_id, event_id, target_id, kind, attempts, schedule_attempts, target_version, event_type, correlation_id,
             payload
           from claim_deliveries($1, $2, $3, $4, $5::uuid[], $6::uuid[], $7, $8, $9, $10)`,
    values: [
      request.leaseMs,
      request.leaseToken,
      request.cursor.bucket,
      request.cursor.targetId,
      targetIds(request.skip),
      targetIds(request.wide),
      request.limit,
      request.perTarget,
      request.few,
      maxTargetsPerClaim,
    ],
  });
  const place = rows.pop()!;
  return {
    deliveries: rows.map((row) => toDelivery(row, request.leaseToken, leaseDeadlineMs)),
    cursor: { bucket: bucketOf(place.target_id), targetId: place.target_id },
    isCircleClosed: place.kind === 1,
  };
}

/** As `uuid[]`, which may be empty. */
function targetIds(ids: readonly string[]): BinaryParameter | string {
  return ids.length === 0 ? "{}" : uuidArray(ids);
}

function toDelivery(row: ClaimRow, leaseToken: number, leaseDeadlineMs: number): Delivery {
  return {
    eventId: row.event_id,
    rowId: row.row_id,
    targetId: row.target_id,
    kind: row.kind as 1 | 3,
    attempts: row.attempts,
    scheduleAttempts: row.schedule_attempts,
    targetVersion: row.target_version,
    payload: Buffer.from(row.payload),
    eventType: row.event_type,
    correlationId: row.correlation_id,
    leaseToken,
    leaseDeadlineMs,
  };
}

/** One attempt as it is written down. */
export interface AttemptRecord {
  eventId: string;
  rowId: string;
  leaseToken: number;
  /** 1 delivered, 2 retry after `delayMs`, 3 failed. */
  outcome: 1 | 2 | 3;
  delayMs: number;
  /** Unix milliseconds. */
  attemptedAtMs: number;
  durationMs: number;
  statusCode: number;
  error: string | null;
  responseBody: Buffer | null;
}

/** Records attempts and moves their deliveries on; says for each whether the lease was still held. */
export async function finishDeliveries(pool: pg.Pool, records: readonly AttemptRecord[]): Promise<boolean[]> {
  const { order, ids, tokens, ends } = byRow(records);
  const ordered = order.map((index) => records[index]!);
  const hasErrors = ordered.some((record) => record.error !== null);
  const hasBodies = ordered.some((record) => record.responseBody !== null);
  const rows = await callFunction<{ matched: string | null }>(pool, {
    name: "finish_deliveries",
    text: "select finish_deliveries($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11) as matched",
    values: [
      uuidArray(ids),
      int8Array(tokens),
      int2Array(ends),
      uuidArray(ordered.map((record) => record.eventId)),
      int2Array(ordered.map((record) => record.outcome)),
      int8Array(ordered.map((record) => record.delayMs)),
      int8Array(ordered.map((record) => record.attemptedAtMs)),
      int4Array(ordered.map((record) => record.durationMs)),
      int2Array(ordered.map((record) => record.statusCode)),
      hasErrors ? textArray(ordered.map((record) => record.error)) : null,
      hasBodies ? byteaArray(ordered.map((record) => record.responseBody)) : null,
    ],
  });
  const { matched } = rows[0]!;
  if (matched === null) return records.map(() => true);
  const isHeld = records.map(() => false);
  for (const number of matched.split(",")) if (number !== "") isHeld[order[Number(number) - 1]!] = true;
  return isHeld;
}

/** Gives unattempted deliveries back to whoever claims next. */
export async function releaseDeliveries(pool: pg.Pool, deliveries: readonly HeldItem[]): Promise<void> {
  for (let from = 0; from < deliveries.length; from += maxPerRelease) {
    const part = deliveries.slice(from, from + maxPerRelease);
    const { order, ids, tokens, ends } = byRow(part);
    await callFunction(pool, {
      name: "release_deliveries",
      text: "select release_deliveries($1, $2, $3, $4, $5)",
      values: [
        uuidArray(ids),
        int8Array(tokens),
        int2Array(ends),
        uuidArray(ids.map((id) => newId(bucketOf(id), idTimeMs(id)))),
        uuidArray(order.map((index) => part[index]!.eventId)),
      ],
    });
  }
}

/** Keeps a statement to some 50 ms, and the ends of rows within two bytes. */
const maxPerRelease = 4_096;

/** An item under the lease of its row. */
interface HeldItem {
  eventId: string;
  rowId: string;
  leaseToken: number;
}

interface ItemsByRow {
  /** The items' places in what was given: row by row, and in a row in ascending order of their ids. */
  order: number[];
  /** Of each row and lease, ascending. */
  ids: string[];
  tokens: number[];
  /** How many items there are up to and with each row. */
  ends: number[];
}

/** Rows go to the database in one order from everywhere, so that no two statements wait for each other in a circle. */
function byRow(items: readonly HeldItem[]): ItemsByRow {
  const rows = new Map<string, number[]>();
  for (let index = 0; index < items.length; index++) {
    const { rowId, leaseToken } = items[index]!;
    const row = rows.get(rowId);
    if (row === undefined) rows.set(rowId, [index]);
    else if (items[row[0]!]!.leaseToken === leaseToken) row.push(index);
    else {
      // A lease that ended, and the next one of the same row, end up here together.
      const name = `${rowId}${leaseToken}`;
      const other = rows.get(name);
      if (other === undefined) rows.set(name, [index]);
      else other.push(index);
    }
  }
  const grouped: ItemsByRow = { order: [], ids: [], tokens: [], ends: [] };
  for (const name of [...rows.keys()].sort()) {
    const row = rows.get(name)!;
    row.sort((one, other) => (items[one]!.eventId < items[other]!.eventId ? -1 : 1));
    const { rowId, leaseToken } = items[row[0]!]!;
    for (const index of row) grouped.order.push(index);
    grouped.ids.push(rowId);
    grouped.tokens.push(leaseToken);
    grouped.ends.push(grouped.order.length);
  }
  return grouped;
}
