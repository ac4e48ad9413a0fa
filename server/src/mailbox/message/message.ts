import type { Static } from "typebox";
import { idTimeMs } from "../../postgres/ids.ts";
import { type TraceContext, traceparentOf } from "../../telemetry/traceContext.ts";
import type { ListedMessage } from "./schemas.ts";

/** A message as the interface answers it; times are Unix seconds. */
export type Message = Static<typeof ListedMessage>;

/** A message that a consumer has just claimed. */
export interface ClaimedMessage {
  id: string;
  mailboxId: string;
  claimedBy: string;
  claimToken: string;
  claimCount: number;
  /** Unix milliseconds of the database's clock. */
  leaseUntilMs: number;
  orderingKey: string | null;
  eventType: string | null;
  correlationId: string | null;
  /** Null when the message is not traced. */
  traceContext: TraceContext | null;
  /** The JSON text that was accepted. */
  payload: string;
}

/** The times at which a message was accepted and expires, in Unix seconds. */
export function messageTimes(id: string, retentionMs: number): { created_at: number; expires_at: number } {
  const acceptedAtMs = idTimeMs(id);
  return {
    created_at: Math.floor(acceptedAtMs / 1000),
    expires_at: Math.floor((acceptedAtMs + retentionMs) / 1000),
  };
}

/**
 * A claimed message as JSON text: the members of {@link Message}, the claim token, the payload and, if it is traced, the trace
 * context. The text is assembled by hand, because this is most of the CPU time of a claim. The payload is not parsed.
 */
export function claimedMessageText(claimed: ClaimedMessage, retentionMs: number): string {
  const { created_at, expires_at } = messageTimes(claimed.id, retentionMs);
  const claimExpiresAt = Math.min(Math.floor(claimed.leaseUntilMs / 1000), expires_at);
  return (
    `{"id":"${claimed.id}","mailbox_id":"${claimed.mailboxId}","status":"CLAIMED"` +
    `,"event_type":${textOrNull(claimed.eventType)},"correlation_id":${textOrNull(claimed.correlationId)}` +
    `,"ordering_key":${textOrNull(claimed.orderingKey)},"claimed_by":"${claimed.claimedBy}"` +
    `,"claim_expires_at":${claimExpiresAt},"claim_count":${claimed.claimCount},"created_at":${created_at}` +
    `,"expires_at":${expires_at},"acknowledged_at":null,"dead_reason":null` +
    (claimed.traceContext === null ? "" : `,"traceparent":"${traceparentOf(claimed.traceContext)}"`) +
    `,"claim_token":"${claimed.claimToken}","payload":${claimed.payload}}`
  );
}

function textOrNull(text: string | null): string {
  return text === null ? "null" : JSON.stringify(text);
}

/** The object as JSON text, with the JSON text `payload` as its last member. */
export function withPayload(object: object, payload: string): string {
  return `${JSON.stringify(object).slice(0, -1)},"payload":${payload}}`;
}
