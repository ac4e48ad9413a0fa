import { type AttemptResult, type Delivery, notSent } from "../../items/delivery.ts";
import type { Senders } from "../../targets/record/kind.ts";
import type { TargetConfig } from "../../targets/record/targetConfig.ts";
import type { Log } from "../../telemetry/log.ts";
import type { Traces } from "../../telemetry/traces.ts";
import { startAttempt } from "./traceAttempt.ts";

/**
 * Makes one attempt with the sender of the target's kind. Calls `ended` once, after this function has returned. An exception
 * within the service counts as a failed attempt, so that neither the item nor its lane is lost.
 */
export function sendAttempt(
  { senders, log, traces }: { senders: Senders; log: Log; traces?: Traces | undefined },
  delivery: Delivery,
  target: TargetConfig,
  ended: (result: AttemptResult) => void,
): void {
  let isOver = false;
  const end = (result: AttemptResult): void => {
    isOver = true;
    ended(result);
  };
  const failed = (error: unknown): void => {
    // An error thrown after `ended` was called is not a result of the attempt.
    if (isOver) throw error;
    log.error({ err: error, event_id: delivery.eventId }, "an attempt could not be made");
    end(notSent("the service could not make the attempt"));
  };
  if (traces !== undefined && delivery.traceContext !== null) {
    delivery.span = startAttempt(traces, delivery, delivery.traceContext, target);
  }
  try {
    senders[delivery.kind](delivery, target, end)?.catch(failed);
  } catch (error) {
    // Deferred, because a synchronous callback would re-enter the dispatcher's loop over the lanes.
    queueMicrotask(() => failed(error));
  }
}
