import { kindName } from "../../postgres/kinds.ts";
import { idTimeMs } from "../../postgres/ids.ts";
import type { Change, Changes } from "../../items/changes.ts";
import type { DeliveryMetrics } from "../../telemetry/deliveryMetrics.ts";
import type { Log } from "../../telemetry/log.ts";
import type { Delivery } from "../../items/delivery.ts";
import type { AttemptRecord } from "../rows/store.ts";
import type { TargetConfig } from "../../targets/record/targetConfig.ts";
import type { Span } from "../../telemetry/traces.ts";
import { endAttempt } from "./traceAttempt.ts";

/** An attempt as it is recorded, with additional fields for the log, traces and streams. */
export interface MadeAttempt extends AttemptRecord {
  kind: Delivery["kind"];
  span: Span | null;
  /** Number of the attempt, starting at 1. */
  number: number;
  target: TargetConfig;
}

/** Reports recorded attempts to the log, metrics, traces and streams. */
export interface AttemptReport {
  /** @param isStored False if the lease had passed to another holder, so that the attempt was not stored. */
  recorded: (isStored: boolean, attempt: MadeAttempt) => void;
  lost: (error: unknown, attempt: MadeAttempt) => void;
}

const outcomeNames = { 1: "delivered", 2: "retry", 3: "failed" } as const;

/** The outcomes as the HTTP interface names them. */
const outcomesTold = { 1: "delivered", 2: "retrying", 3: "failed" } as const;

export function createAttemptReport(metrics: DeliveryMetrics, log: Log, changes: Changes): AttemptReport {
  return {
    recorded(isStored, attempt) {
      const { eventId, target, durationMs } = attempt;
      const outcome = isStored ? outcomeNames[attempt.outcome] : "stale";
      metrics.attempt(kindName(attempt.kind), outcome, durationMs);
      if (outcome === "delivered") {
        metrics.delivered(attempt.attemptedAtMs + durationMs - idTimeMs(eventId));
      }
      log.attempt({
        eventId,
        targetId: target.id,
        orgId: target.orgId,
        number: attempt.number,
        outcome,
        statusCode: attempt.statusCode,
        durationMs,
        error: attempt.error,
        nextInMs: attempt.outcome === 2 ? attempt.delayMs : null,
      });
      if (attempt.span !== null) endAttempt(attempt.span, outcome, attempt);
      if (isStored && changes.isWatched() && changes.isTargetWatched(target.id))
        changes.publish(target.id, changeOf(attempt));
    },
    lost(error, attempt) {
      if (attempt.span !== null) endAttempt(attempt.span, "lost", attempt);
      log.error(
        { err: error, event_id: attempt.eventId },
        "an attempt could not be recorded; the item will be sent again",
      );
    },
  };
}

function changeOf(attempt: MadeAttempt): Change {
  const { eventId, target, number, statusCode, durationMs, error, outcome } = attempt;
  const endedAtMs = attempt.attemptedAtMs + durationMs;
  return {
    type: "attempt",
    data: {
      event_id: eventId,
      target_id: target.id,
      number,
      status_code: statusCode,
      duration_ms: durationMs,
      error,
      outcome: outcomesTold[outcome],
      next_attempt_at: outcome === 2 ? Math.ceil((endedAtMs + attempt.delayMs) / 1000) : null,
    },
  };
}
