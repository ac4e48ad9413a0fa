import type { Delivery } from "../../src/items/delivery.ts";
import type { NewItem } from "../../src/items/item.ts";
import { bucketOf, newId } from "../../src/postgres/ids.ts";

/* Items and attempts in the form that a node's statements take. */

/** An item for acceptance, with only the required fields. */
export function newItem(key: string, targetId: string, atMs = Date.now()): NewItem {
  return {
    id: newId(bucketOf(targetId), atMs),
    targetId,
    key,
    legacy: false,
    payload: Buffer.from('{"some":"thing"}'),
    eventType: null,
    correlationId: null,
    orderingKey: null,
    traceContext: null,
    match: null,
    idempotencyKey: null,
  };
}

/** An attempt for `finishDeliveries`: 1 delivered, 2 to be retried at once, 3 failed permanently. */
export function attemptOf({ eventId, rowId, leaseToken }: Delivery, outcome: 1 | 2 | 3) {
  return {
    eventId,
    rowId,
    leaseToken,
    outcome,
    delayMs: 0,
    attemptedAtMs: Date.now(),
    durationMs: 5,
    statusCode: outcome === 1 ? 200 : 500,
    error: outcome === 1 ? null : "the receiver answered 500",
    responseBody: null,
    headerSet: 0,
  };
}
