import type { AttemptResult, Delivery } from "../../items/delivery.ts";
import type { DeliveredKind } from "../../postgres/kinds.ts";
import type { TargetConfig } from "./targetConfig.ts";
import type { Parts } from "../../items/parts.ts";

/**
 * Makes one attempt at a delivery and calls `ended` once, after it has returned; one that throws, or rejects before it
 * calls, has failed.
 */
export type Sender = (
  delivery: Delivery,
  target: TargetConfig,
  ended: (result: AttemptResult) => void,
) => Promise<void> | void;

/** The senders of the kinds whose items are delivered. */
export type Senders = Record<DeliveredKind, Sender>;

/** The parts of the process that senders need. */
export interface SendDeps extends Pick<Parts, "outbound" | "nowMs"> {
  /** The limit of one attempt, in milliseconds. */
  timeoutMs: number;
  /** Makes one attempt at handing an item to an agent. */
  sendHandoff: (delivery: Delivery, target: TargetConfig) => Promise<AttemptResult>;
}
