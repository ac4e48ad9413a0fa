import type pg from "pg";
import type { Changes } from "../../items/changes.ts";
import type { Log } from "../../telemetry/log.ts";
import type { AttemptResult, AttemptVerdict, Delivery } from "../../items/delivery.ts";
import type { AttemptRecorder } from "./recordAttempts.ts";
import { nextDelayMs } from "./retryPolicy.ts";
import { disableTarget, noteFailure, noteRecovery, type TargetConfig } from "../../targets/targetConfig.ts";

/** Turns an attempt's result into the delivery's next step, and records both. */
export interface Finisher {
  /** Returns at once; the attempt is recorded with others in a batch. One that is `unsent` must not come here. */
  finish(delivery: Delivery, target: TargetConfig, result: AttemptResult, attemptedAtMs: number): void;
}

export interface FinisherDeps {
  pool: pg.Pool;
  log: Log;
  recorder: AttemptRecorder;
  changes: Changes;
  nowMs: () => number;
  random: () => number;
}

export function createFinisher(deps: FinisherDeps): Finisher {
  return {
    finish(delivery, target, result, attemptedAtMs) {
      const step = nextStep(deps, delivery, target, result);
      const error = result.verdict.outcome === "delivered" ? null : storable(result.verdict.error);
      // Not the delivery itself: its payload need not wait in memory for the record.
      deps.recorder.record({
        eventId: delivery.eventId,
        rowId: delivery.rowId,
        leaseToken: delivery.leaseToken,
        outcome: step.outcome,
        delayMs: step.delayMs,
        attemptedAtMs,
        durationMs: Math.round(result.durationMs),
        statusCode: result.statusCode,
        error,
        responseBody: result.responseBody,
        headerSet: headerSetOf(target),
        kind: delivery.kind,
        number: delivery.attempts + 1,
        target,
      });
      noteHealth(deps, { target, eventId: delivery.eventId }, result.verdict);
    },
  };
}

/** The set of the target's own headers that an attempt carried; 0 for none. */
function headerSetOf({ headers }: TargetConfig): number {
  return headers === null || "fault" in headers ? 0 : headers.set;
}

const maxErrorLength = 1_000;

/** An error may quote what a receiver said. What cannot be stored would keep the attempt from being recorded at all. */
function storable(error: string): string {
  return error.slice(0, maxErrorLength).replaceAll("\0", "\ufffd").toWellFormed();
}

interface Step {
  outcome: 1 | 2 | 3;
  delayMs: number;
}

function nextStep(deps: FinisherDeps, delivery: Delivery, target: TargetConfig, result: AttemptResult): Step {
  switch (result.verdict.outcome) {
    case "unsent":
      throw new Error("nothing was attempted that could be recorded");
    case "delivered":
      return { outcome: 1, delayMs: 0 };
    case "failed":
    case "gone":
      return { outcome: 3, delayMs: 0 };
    case "retry": {
      const delayMs = nextDelayMs({
        attempt: delivery.scheduleAttempts + 1,
        intervalSeconds: target.retryIntervalSeconds,
        maxRetries: target.maxRetries,
        retryAfter: result.retryAfter,
        nowMs: deps.nowMs(),
        random: deps.random(),
      });
      return delayMs === null ? { outcome: 3, delayMs: 0 } : { outcome: 2, delayMs: Math.ceil(delayMs) };
    }
  }
}

/** Keeps the target's health on its record: written on changes only, never per attempt. */
function noteHealth(
  deps: FinisherDeps,
  { target, eventId }: { target: TargetConfig; eventId: string },
  verdict: AttemptVerdict,
): void {
  if (verdict.outcome === "delivered" && target.failingSince === null) return;
  const nowSeconds = Math.floor(deps.nowMs() / 1000);
  const note = { targetId: target.id, eventId, nowSeconds };
  let change: Promise<unknown> | undefined;
  if (verdict.outcome === "gone") {
    // So that no other delivery that this node holds for it is sent.
    target.enabled = false;
    change = disableTarget(deps.pool, note, "the receiver answered 410 Gone");
  } else if (verdict.outcome === "delivered") {
    target.failingSince = null;
    change = noteRecovery(deps.pool, note);
  } else if (verdict.outcome === "failed" || (verdict.outcome === "retry" && verdict.countsTowardDisabling)) {
    if (target.failingSince !== null && target.failingSince > nowSeconds - 5 * 86_400) return;
    change = noteFailure(deps.pool, note).then((isDisabled) => {
      if (isDisabled)
        deps.log.warn({ target_id: target.id }, "target disabled: every delivery failed for 5 days");
    });
    target.failingSince ??= nowSeconds;
  }
  change = change?.then(() => deps.changes.publishTarget(target.orgId, target.id));
  change?.catch((error: unknown) => {
    deps.log.warn({ err: error, target_id: target.id }, "the target's health could not be noted");
  });
}
