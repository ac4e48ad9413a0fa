import type pg from "pg";
import type { Changes } from "../../items/changes.ts";
import type { Log } from "../../telemetry/log.ts";
import type { AttemptResult, Delivery } from "../../items/delivery.ts";
import { disableTarget, noteFailure, noteRecovery } from "../../targets/record/noteHealth.ts";
import type { TargetConfig } from "../../targets/record/targetConfig.ts";
import type { AttemptRecorder } from "./recordAttempts.ts";
import { nextDelayMs } from "./retryPolicy.ts";

export interface FinishDeps {
  /** Pool with access to the control plane, for the health in a target's row and the audit entry when a target is disabled. */
  control: pg.Pool;
  log: Log;
  recorder: AttemptRecorder;
  changes: Changes;
  nowMs: () => number;
  /** Returns a random number ≥ 0 and < 1. */
  random: () => number;
}

/** An attempt whose request has ended. An `unsent` request is not an attempt and is not recorded. */
export interface EndedAttempt {
  delivery: Delivery;
  target: TargetConfig;
  result: AttemptResult;
  /** Unix milliseconds. */
  attemptedAtMs: number;
}

/**
 * Decides from an attempt's result whether its delivery is done, is retried later or has failed, and records both. Returns at
 * once; the record is written in a batch with others.
 */
export function finishAttempt(deps: FinishDeps, ended: EndedAttempt): void {
  const { delivery, target, result, attemptedAtMs } = ended;
  const step = nextStep(deps, ended);
  const error = result.outcome.kind === "delivered" ? null : storable(result.outcome.error);
  // Copies the fields, so that the record does not keep the delivery's payload in memory.
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
    span: delivery.span,
    number: delivery.attempts + 1,
    target,
  });
  noteHealth(deps, ended);
}

/** Number of the set of the target's own headers that the attempt carried; 0 for none. */
function headerSetOf({ headers }: TargetConfig): number {
  return headers === null || "fault" in headers ? 0 : headers.set;
}

const maxErrorLength = 1_000;

/**
 * Cleans an error text, which may quote the receiver: PostgreSQL rejects some characters, and the attempt would not be recorded.
 */
function storable(error: string): string {
  return error.slice(0, maxErrorLength).replaceAll("\0", "\ufffd").toWellFormed();
}

interface Step {
  outcome: 1 | 2 | 3;
  delayMs: number;
}

function nextStep(deps: FinishDeps, { delivery, target, result }: EndedAttempt): Step {
  switch (result.outcome.kind) {
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

/** Updates the target's health in its row: only when it changes, not for each attempt. */
function noteHealth(deps: FinishDeps, { delivery, target, result: { outcome } }: EndedAttempt): void {
  if (outcome.kind === "delivered" && target.failingSince === null) return;
  const { enabled, failingSince } = target;
  const nowSeconds = Math.floor(deps.nowMs() / 1000);
  const note = { targetId: target.id, url: target.url, eventId: delivery.eventId, nowSeconds };
  let change: Promise<unknown> | undefined;
  if (outcome.kind === "gone") {
    // Set at once, so that no delivery that waits in memory for the target is sent.
    target.enabled = false;
    change = disableTarget(deps.control, note, "the receiver answered 410 Gone");
  } else if (outcome.kind === "delivered") {
    target.failingSince = null;
    change = noteRecovery(deps.control, note);
  } else if (outcome.kind === "failed" || (outcome.kind === "retry" && outcome.countsTowardDisabling)) {
    if (target.failingSince !== null && target.failingSince > nowSeconds - 5 * 86_400) return;
    change = noteFailure(deps.control, note).then((isDisabled) => {
      if (isDisabled)
        deps.log.warn({ target_id: target.id }, "target disabled: every delivery failed for 5 days");
    });
    target.failingSince ??= nowSeconds;
  }
  change = change?.then(() => deps.changes.publishTarget(target.orgId, target.id));
  change?.catch((error: unknown) => {
    // Restores the value that the database still has, so that the next attempt tries to write the change again.
    if (outcome.kind === "gone") target.enabled = enabled;
    else target.failingSince = failingSince;
    deps.log.warn({ err: error, target_id: target.id }, "the target's health could not be stored");
  });
}
