import type pg from "pg";
import {
  boolArray,
  byteaArray,
  idArray,
  int2Array,
  int4Array,
  int8Array,
  textArray,
  uuidArray,
} from "../../postgres/hot/binaryArray.ts";
import { callFunction } from "../../postgres/hot/callFunction.ts";
import { withPartitions } from "../../postgres/partitions.ts";
import type { RowOf } from "../../postgres/hot/functionCall.ts";
import { bucketOf, idTimeMs, newId, unknownId } from "../../postgres/ids.ts";
import type { DeliveredKind } from "../../postgres/kinds.ts";
import { type Delivery, traceOf } from "../../items/delivery.ts";
import { messaging, type Traces } from "../../telemetry/traces.ts";
import { latencyRange } from "../../items/latencyRanges.ts";
import { byRow, type RowItem } from "./itemsByRow.ts";

/** A node's position in its circle (round robin) over the waiting targets. */
export interface ClaimCursor {
  bucket: number;
  targetId: string;
}

export const firstCursor: ClaimCursor = { bucket: -1, targetId: unknownId };

export interface DeliveryClaimRequest {
  leaseMs: number;
  leaseToken: number;
  cursor: ClaimCursor;
  /** Targets for which this node has no room. */
  skip: readonly string[];
  limit: number;
  /** Maximum number of items of one target: `perTarget` if it is in `wide`, otherwise `few`. */
  perTarget: number;
  few: number;
  /** Targets that have shown that they take many deliveries at a time. */
  wide: readonly string[];
  /** The only targets to read, regardless of `cursor`; all targets if absent. */
  only?: readonly string[];
}

type ClaimRow = RowOf<"claim_deliveries">;

/**
 * How many waiting targets one claim reads. Each target costs some 0.1 ms, and each row as much again. While a claim occupies
 * one core, the items of other targets wait for it.
 */
export const maxTargetsPerClaim = 64;

export interface Claim {
  deliveries: Delivery[];
  /** Cursor: the position at which the next claim starts. */
  cursor: ClaimCursor;
  /** Whether every waiting target was read, so that nothing else is due now. */
  isCircleClosed: boolean;
}

/** Leases due deliveries to the caller, a few from each target, starting at `cursor`. */
export async function claimDeliveries(
  pool: pg.Pool,
  request: DeliveryClaimRequest,
  traces?: Traces,
): Promise<Claim> {
  const startMs = Date.now();
  const leaseDeadlineMs = performance.now() + request.leaseMs;
  const rows = await callFunction(pool, "claim_deliveries", {
    p_lease_ms: request.leaseMs,
    p_lease_token: request.leaseToken,
    p_bucket: request.cursor.bucket,
    p_target: request.cursor.targetId,
    p_skip: idArray(request.skip),
    p_wide: idArray(request.wide),
    p_limit: request.limit,
    p_per_target: request.perTarget,
    p_few: request.few,
    p_max_targets: maxTargetsPerClaim,
    p_only: idArray(request.only),
    p_is_traced: traces !== undefined,
  });
  const { target_id: next, is_circle_closed: isCircleClosed } = rows.pop()!;
  await fillPayloads(pool, rows);
  const deliveries = toDeliveries(rows, request.leaseToken, leaseDeadlineMs);
  if (traces !== undefined) traceClaim(traces, deliveries, startMs);
  return {
    deliveries,
    cursor: { bucket: bucketOf(next!), targetId: next! },
    isCircleClosed: isCircleClosed!,
  };
}

/** Adds the payloads of items of publications; a publication's payload is stored once for all of its items. */
async function fillPayloads(pool: pg.Pool, rows: readonly ClaimRow[]): Promise<void> {
  const published = rows.filter((row) => row.publication_ids !== null);
  if (published.length === 0) return;
  const ids = new Set(published.flatMap((row) => row.publication_ids!.filter((id) => id !== null)));
  const found = await callFunction(pool, "publication_payloads", { p_ids: idArray([...ids]) });
  const payloads = new Map(found.map((row) => [row.id!, row.payload!]));
  for (const { payloads: own, publication_ids: its } of published) {
    for (const [item, id] of its!.entries()) if (id !== null) own![item] = payloads.get(id) ?? erased;
  }
}

/** Marks an erased payload: a JSON payload is never empty. */
const erased = Buffer.alloc(0);

function toDeliveries(rows: readonly ClaimRow[], leaseToken: number, leaseDeadlineMs: number): Delivery[] {
  const deliveries: Delivery[] = [];
  for (const row of rows) {
    // Null if the events of all items are gone.
    const { event_ids: eventIds, event_types, correlation_ids, payloads, trace_contexts } = row;
    if (eventIds === null) continue;
    for (let item = 0; item < eventIds.length; item++) {
      // The payload was erased meanwhile; the erasure has also ended the lease.
      if (payloads![item]!.length === 0) continue;
      deliveries.push({
        eventId: eventIds[item]!,
        rowId: row.row_id!,
        targetId: row.target_id!,
        kind: row.kind as DeliveredKind,
        attempts: row.attempts!,
        scheduleAttempts: row.schedule_attempts!,
        targetVersion: row.target_version!,
        sourceEventId: row.source_event_id,
        webhookId: row.webhook_id,
        payload: payloads![item]!,
        eventType: event_types![item]!,
        correlationId: correlation_ids![item]!,
        traceContext: trace_contexts?.[item] ?? null,
        span: null,
        leaseToken,
        leaseDeadlineMs,
      });
    }
  }
  return deliveries;
}

/** Records a span for each traced item: the claim by which this node got it. */
function traceClaim(traces: Traces, deliveries: readonly Delivery[], startMs: number): void {
  for (const delivery of deliveries) {
    const { eventId, targetId, traceContext } = delivery;
    if (traceContext === null) continue;
    const span = traces.start({
      name: "claim",
      kind: "internal",
      ...traceOf(delivery, traceContext),
      attributes: { ...messaging, "messaging.message.id": eventId, "messaging.destination.name": targetId },
      startMs,
    });
    span?.end({ attributes: {} });
  }
}

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
  /** Number of the set of the target's own headers that the attempt carried; 0 for none. */
  headerSet: number;
}

/**
 * Stores attempts and updates their deliveries. The lease token is a fencing token: nothing is written for a delivery whose
 * lease has passed to another holder. @returns for each attempt whether it was stored.
 */
export async function finishDeliveries(pool: pg.Pool, records: readonly AttemptRecord[]): Promise<boolean[]> {
  const { order, ids, tokens, ends } = byRow(records);
  const ordered = order.map((index) => records[index]!);
  const isDelivered = ({ outcome }: AttemptRecord): boolean => outcome === 1;
  const areAllDelivered = ordered.every(isDelivered);
  const areDelivered = ends.map(
    (end, row) => areAllDelivered || ordered.slice(ends[row - 1] ?? 0, end).every(isDelivered),
  );
  const hasErrors = ordered.some((record) => record.error !== null);
  const hasBodies = ordered.some((record) => record.responseBody !== null);
  const hasHeaders = ordered.some((record) => record.headerSet !== 0);
  const rows = await withPartitions(pool, () =>
    callFunction(pool, "finish_deliveries", {
      p_row_ids: uuidArray(ids),
      p_row_tokens: int8Array(tokens),
      p_row_ends: int2Array(ends),
      p_row_delivered: boolArray(areDelivered),
      p_event_ids: uuidArray(ordered.map((record) => record.eventId)),
      p_outcomes: areAllDelivered ? null : int2Array(ordered.map((record) => record.outcome)),
      p_delays_ms: areAllDelivered ? null : int8Array(ordered.map((record) => record.delayMs)),
      p_attempted_at: int8Array(ordered.map((record) => record.attemptedAtMs)),
      p_durations_ms: int4Array(ordered.map((record) => record.durationMs)),
      p_status_codes: int2Array(ordered.map((record) => record.statusCode)),
      p_errors: hasErrors ? textArray(ordered.map((record) => record.error)) : null,
      p_response_bodies: hasBodies ? byteaArray(ordered.map((record) => record.responseBody)) : null,
      p_latencies: int2Array(ordered.map(latencyOf)),
      p_header_sets: hasHeaders ? int4Array(ordered.map((record) => record.headerSet)) : null,
    }),
  );
  const { finish_deliveries: matched } = rows[0]!;
  if (matched === null) return records.map(() => true);
  const isStored = records.map(() => false);
  for (const number of matched.split(",")) if (number !== "") isStored[order[Number(number) - 1]!] = true;
  return isStored;
}

/** The histogram range of the time from acceptance to the receiver's answer. */
function latencyOf({ eventId, attemptedAtMs, durationMs }: AttemptRecord): number {
  return latencyRange(attemptedAtMs + durationMs - idTimeMs(eventId));
}

/** Ends the leases of deliveries that are not attempted, so that the next claim of any node gets them. */
export async function releaseDeliveries(pool: pg.Pool, deliveries: readonly RowItem[]): Promise<void> {
  for (let from = 0; from < deliveries.length; from += maxPerRelease) {
    const part = deliveries.slice(from, from + maxPerRelease);
    const { order, ids, tokens, ends } = byRow(part);
    await callFunction(pool, "release_deliveries", {
      p_row_ids: uuidArray(ids),
      p_row_tokens: int8Array(tokens),
      p_row_ends: int2Array(ends),
      p_spare_ids: uuidArray(ids.map((id) => newId(bucketOf(id), idTimeMs(id)))),
      p_event_ids: uuidArray(order.map((index) => part[index]!.eventId)),
    });
  }
}

/** Items per statement, which takes some 50 ms; a row's end must also fit a smallint. */
const maxPerRelease = 4_096;
