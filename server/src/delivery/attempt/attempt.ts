import type { Log } from "../../telemetry/log.ts";
import { type AttemptResult, type Delivery, notSent } from "../../items/delivery.ts";
import type { TargetConfig } from "../../targets/targetConfig.ts";

/** How a delivery of each kind is sent: 1 webhook, 3 a2a. */
export type Senders = Record<1 | 3, Sender>;

/**
 * Makes one attempt at a delivery and calls `ended` once, after it has returned; one that throws, or rejects before it
 * calls, has failed.
 */
type Sender = (
  delivery: Delivery,
  target: TargetConfig,
  ended: (result: AttemptResult) => void,
) => Promise<void> | void;

/**
 * Makes one attempt and calls `ended` once, after it has returned. A fault of ours is an attempt that failed, and no
 * reason to lose the item or its lane.
 */
export function attempt(
  { senders, log }: { senders: Senders; log: Log },
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
    // What goes wrong after the end is not about the attempt.
    if (isOver) throw error;
    log.error({ err: error, event_id: delivery.eventId }, "an attempt could not be made");
    end(notSent("the service could not make the attempt"));
  };
  try {
    senders[delivery.kind](delivery, target, end)?.catch(failed);
  } catch (error) {
    // In the middle of a round of turns, where no attempt can end.
    queueMicrotask(() => failed(error));
  }
}
