import type { DeliveredKind } from "../postgres/kinds.ts";
import type { LeasedItem, NewItem } from "./item.ts";
import { contextOfEvent, type TraceContext } from "../telemetry/traceContext.ts";
import type { Span } from "../telemetry/traces.ts";

/** One item on its way to its target, as a node holds it while it has the lease. */
export interface Delivery {
  eventId: string;
  /** The row of `deliveries` that it came in, with its lease; others may have come in the same. */
  rowId: string;
  targetId: string;
  kind: DeliveredKind;
  /** Attempts made before this one, in all and in the present schedule. */
  attempts: number;
  scheduleAttempts: number;
  /** The target's version when the item was accepted or claimed. */
  targetVersion: number;
  payload: Buffer;
  eventType: string | null;
  correlationId: string | null;
  /** The event that this one repeats, when it is a replay. */
  sourceEventId: string | null;
  /** Its `webhook-id` where that is not its own id: that of the event which a replay repeats. */
  webhookId: string | null;
  /** Where its trace goes on; null when it is not traced. */
  traceContext: TraceContext | null;
  /** The span of the attempt under way; null when it is not traced. */
  span: Span | null;
  leaseToken: number;
  /** When the lease ends, by this node's monotonic clock; it never ends sooner in the database. */
  leaseDeadlineMs: number;
}

/** The delivery of an item that this node has just accepted, under the lease it was stored with. */
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

/** The result of one attempt, whatever the kind of target. */
export interface AttemptResult {
  outcome: AttemptOutcome;
  /** 0 when there was no answer. */
  statusCode: number;
  durationMs: number;
  /** At most 1 KiB of the answer. */
  responseBody: Buffer | null;
  /** The answer's `Retry-After`, as received. */
  retryAfter: string | null;
}

/** The outcome of an attempt for its delivery. Errors are for people, and stored with the attempt. */
export type AttemptOutcome =
  | { kind: "delivered" }
  | {
      kind: "retry";
      error: string;
      /** False when the receiver is alive and only asks for time, so that the failure is no reason to disable it. */
      countsTowardDisabling: boolean;
      /** The receiver, or what stands before it, is overloaded: send it less. */
      slowDown: boolean;
    }
  /** Failed for good; later items of the target may still succeed. */
  | { kind: "failed"; error: string }
  /** Failed for good, and the target wants no more. */
  | { kind: "gone"; error: string }
  /**
   * Nothing left this process, for want of something of its own, such as file descriptors: no attempt at all. The
   * delivery is given back, and the target is not to blame.
   */
  | { kind: "unsent"; error: string };

/** The result of an attempt that never left the service, for a reason that is not the target's fault. */
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
 * Where the spans of a delivery go on, and what they are linked to: a replay has a trace of its own, which all nodes derive
 * from its event's id, and points to that of its source.
 */
export function traceOf(
  { eventId, sourceEventId }: Pick<Delivery, "eventId" | "sourceEventId">,
  context: TraceContext,
): { parent: TraceContext; links: TraceContext[] } {
  return sourceEventId === null
    ? { parent: context, links: [] }
    : { parent: contextOfEvent(eventId), links: [context] };
}
