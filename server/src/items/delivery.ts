import type { DeliveredKind } from "../postgres/kinds.ts";
import type { LeasedItem, NewItem } from "./item.ts";
import { contextOfEvent, type TraceContext } from "../telemetry/traceContext.ts";
import type { Span } from "../telemetry/traces.ts";

/** One item that is due at its target, in the memory of the node that holds the lease. */
export interface Delivery {
  eventId: string;
  /** The row of `deliveries` that it was claimed or stored in, under one lease with the row's other items. */
  rowId: string;
  targetId: string;
  kind: DeliveredKind;
  /** Attempts made before this one: in total, and in the present schedule. */
  attempts: number;
  scheduleAttempts: number;
  /** The target's version when the item was accepted or claimed. */
  targetVersion: number;
  payload: Buffer;
  eventType: string | null;
  correlationId: string | null;
  /** The event that this one repeats, when it is a replay. */
  sourceEventId: string | null;
  /** Its `webhook-id` if that is not its own id: a replay has the `webhook-id` of the event that it repeats. */
  webhookId: string | null;
  /** Trace context for the spans of the delivery; null when the item is not traced. */
  traceContext: TraceContext | null;
  /** The span of the attempt in flight; null when it is not traced. */
  span: Span | null;
  leaseToken: number;
  /** When the lease ends, by this node's monotonic clock. It ends at the same time or later in the database. */
  leaseDeadlineMs: number;
}

/** The delivery of an item that this node has just accepted, under the lease with which it was stored. */
export function acceptedDelivery(item: NewItem, leased: LeasedItem): Delivery {
  return {
    eventId: item.id,
    rowId: leased.rowId,
    targetId: item.targetId,
    kind: leased.kind,
    attempts: 0,
    scheduleAttempts: 0,
    targetVersion: leased.targetVersion,
    payload: item.payload,
    eventType: item.eventType,
    correlationId: item.correlationId,
    sourceEventId: null,
    webhookId: null,
    traceContext: item.traceContext,
    span: null,
    leaseToken: leased.lease.token,
    leaseDeadlineMs: leased.lease.deadlineMs,
  };
}

/** The result of one attempt, for all kinds of targets. */
export interface AttemptResult {
  outcome: AttemptOutcome;
  /** HTTP status of the answer; 0 when there was none. */
  statusCode: number;
  durationMs: number;
  /** The first 1 KiB of the answer. */
  responseBody: Buffer | null;
  /** The answer's `Retry-After`, as received. */
  retryAfter: string | null;
}

/** The outcome of an attempt for its delivery. `error` is text for users, and stored with the attempt. */
export type AttemptOutcome =
  | { kind: "delivered" }
  | {
      kind: "retry";
      error: string;
      /** False when the receiver works and only asks for a delay: such failures do not lead to disabling the target. */
      countsTowardDisabling: boolean;
      /** Whether the receiver, or a proxy before it, is overloaded, so that the lane halves its window. */
      slowDown: boolean;
    }
  /** Failed for good; later items of the target may still succeed. */
  | { kind: "failed"; error: string }
  /** Failed for good, and the receiver wants no more deliveries: the target is disabled. */
  | { kind: "gone"; error: string }
  /**
   * Nothing was sent, because this process lacked a resource such as file descriptors. It does not count as an attempt: the
   * delivery is released, and the failure does not count against the target.
   */
  | { kind: "unsent"; error: string };

/** The result of an attempt that sent nothing, for a reason that does not count against the target. */
export function notSent(error: string): AttemptResult {
  return {
    outcome: { kind: "retry", error, countsTowardDisabling: false, slowDown: false },
    statusCode: 0,
    durationMs: 0,
    responseBody: null,
    retryAfter: null,
  };
}

/**
 * The parent and the links of a delivery's spans. A replay has its own trace, whose id all nodes derive from the event's id, and
 * a link to the trace of its source.
 */
export function traceOf(
  { eventId, sourceEventId }: Pick<Delivery, "eventId" | "sourceEventId">,
  context: TraceContext,
): { parent: TraceContext; links: TraceContext[] } {
  return sourceEventId === null
    ? { parent: context, links: [] }
    : { parent: contextOfEvent(eventId), links: [context] };
}
