import { kindName } from "../postgres/kinds.ts";
import { createHash } from "node:crypto";
import type { Static } from "typebox";
import { idTimeMs } from "../postgres/ids.ts";
import type { DeliveryAttempt, Event, EventSummary, OptionalField } from "./schemas.ts";
import type { EventPage } from "./listEvents.ts";
import type { Progress } from "./progress.ts";
import type { StoredAttempt, StoredEvent } from "./store.ts";

/** An event of a list, with the optional fields that the request named. */
export function listedAnswer(
  event: StoredEvent,
  page: Pick<EventPage, "progress" | "replays" | "handoffs">,
  fields: ReadonlySet<OptionalField>,
): Static<typeof EventSummary> {
  const answer: Static<typeof EventSummary> = summaryAnswer(event);
  if (fields.has("replayed_by")) answer.replayed_by = latestAnswer(page.replays.get(event.id));
  if (fields.has("handoff")) answer.handoff = page.handoffs.get(event.id) ?? null;
  const progress = page.progress.get(event.id);
  if (progress === undefined) return answer;
  if (fields.has("attempts")) answer.attempts = progress.attempts;
  if (fields.has("last_status_code")) answer.last_status_code = progress.statusCode;
  if (fields.has("next_attempt_at")) answer.next_attempt_at = orNull(progress.dueAtMs);
  if (fields.has("duration_ms")) answer.duration_ms = progress.durationMs;
  return answer;
}

function summaryAnswer(event: StoredEvent) {
  const createdAtMs = idTimeMs(event.id);
  return {
    id: event.id,
    endpoint_id: event.targetId,
    event_type: event.eventType,
    status: event.status,
    created_at: toSeconds(createdAtMs),
    // Clocks of nodes differ slightly: a change must not appear to precede the creation.
    updated_at: toSeconds(Math.max(createdAtMs, event.changedAtMs ?? 0)),
  };
}

/** A single event, with all its fields. */
export function eventAnswer(
  event: StoredEvent,
  progress: Progress,
  replayedBy: StoredEvent | undefined,
): Static<typeof Event> {
  const { attempts, statusCode, error, dueAtMs, isHeld } = progress;
  return {
    ...summaryAnswer(event),
    org_id: event.orgId,
    target_kind: kindName(event.kind),
    correlation_id: event.correlationId,
    attempts,
    max_attempts: event.maxRetries + 1,
    retry_count: Math.max(0, attempts - 1),
    max_retries: event.maxRetries,
    next_attempt_at: orNull(dueAtMs),
    last_status_code: statusCode,
    last_error: error,
    held: isHeld,
    is_replay: event.sourceEventId === null ? 0 : 1,
    source_event_id: event.sourceEventId,
    webhook_id: event.webhookId,
    replayed_by: latestAnswer(replayedBy),
    replay_id: event.replayId,
    publication_id: event.publicationId,
    erased_at: event.erasureId === null ? null : toSeconds(idTimeMs(event.erasureId)),
  };
}

function latestAnswer(replay: StoredEvent | undefined): Static<typeof Event>["replayed_by"] {
  if (replay === undefined) return null;
  return { id: replay.id, status: replay.status, created_at: toSeconds(idTimeMs(replay.id)) };
}

/** One attempt. Its id is derived from the event's id and the attempt's number, so that it need not be stored. */
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
    ...(attempt.requestHeaders !== undefined && { request_headers: attempt.requestHeaders }),
  };
}

function orNull(ms: number | null): number | null {
  return ms === null ? null : toSeconds(ms);
}

function toSeconds(ms: number): number {
  return Math.floor(ms / 1000);
}
