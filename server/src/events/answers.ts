import { createHash } from "node:crypto";
import type { Static } from "typebox";
import { idTimeMs } from "../postgres/ids.ts";
import type { DeliveryAttempt, Event, EventSummary } from "./schemas.ts";
import { kindNames } from "../items/kind.ts";
import type { StoredAttempt, StoredEvent } from "./store.ts";

/** An event as a list shows it. */
export function summaryAnswer(event: StoredEvent): Static<typeof EventSummary> {
  const createdAtMs = idTimeMs(event.id);
  return {
    id: event.id,
    endpoint_id: event.targetId,
    event_type: event.eventType,
    status: event.status,
    created_at: toSeconds(createdAtMs),
    // Nodes' clocks differ by a little; nothing changes before it exists.
    updated_at: toSeconds(Math.max(createdAtMs, event.changedAtMs ?? 0)),
  };
}

/** An event as it is read alone. */
export function eventAnswer(
  event: StoredEvent,
  attempts: readonly StoredAttempt[],
  dueAtMs: number | null,
): Static<typeof Event> {
  return {
    ...summaryAnswer(event),
    org_id: event.orgId,
    target_kind: kindNames[event.kind],
    correlation_id: event.correlationId,
    retry_count: Math.max(0, (attempts.at(-1)?.number ?? 0) - 1),
    max_retries: event.maxRetries,
    next_attempt_at: dueAtMs === null ? null : toSeconds(dueAtMs),
    is_replay: event.sourceEventId === null ? 0 : 1,
    source_event_id: event.sourceEventId,
  };
}

/** One attempt; its id is made of the event's and its number, so that it need not be stored. */
export function attemptAnswer(eventId: string, attempt: StoredAttempt): Static<typeof DeliveryAttempt> {
  const digest = createHash("sha256").update(`${eventId}:${attempt.number}`).digest("hex");
  return {
    id: `da_${digest.slice(0, 32)}`,
    event_id: eventId,
    status_code: attempt.statusCode,
    duration_ms: attempt.durationMs,
    error: attempt.error,
    attempted_at: toSeconds(attempt.attemptedAtMs),
    response_body: attempt.responseBody?.toString("utf8") ?? null,
  };
}

function toSeconds(ms: number): number {
  return Math.floor(ms / 1000);
}
