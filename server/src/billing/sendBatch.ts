import { Stripe } from "stripe";
import type { StripeConfig } from "../config/config.ts";
import type { MeterBatch } from "./meterBatches.ts";

/**
 * What came of sending a batch: it is at the processor (told just now, or known already); it is not, and why; or
 * nobody knows, because there was no clear answer.
 */
export type SendOutcome =
  | { kind: "confirmed" }
  | { kind: "duplicate" }
  | { kind: "refused"; reason: string }
  | { kind: "unknown"; reason: string };

/** Sends one batch. Never throws for what the processor or the network does. */
export async function sendBatch(
  processor: { stripe: Stripe; config: StripeConfig },
  batch: MeterBatch,
): Promise<SendOutcome> {
  try {
    // No idempotency key of our own: the processor would repeat the answer to it, a failure included. The
    // identifier is what keeps a batch from counting twice.
    await processor.stripe.billing.meterEvents.create({
      event_name: processor.config.meterEventName,
      identifier: batch.identifier,
      timestamp: batch.event_timestamp,
      payload: { stripe_customer_id: batch.customer_id, value: String(batch.value) },
    });
    return { kind: "confirmed" };
  } catch (error) {
    return classifySendError(error, batch.identifier);
  }
}

/** Judges an error of sending. @throws the error itself when it is not the processor's. */
export function classifySendError(error: unknown, identifier: string): SendOutcome {
  if (!(error instanceof Stripe.errors.StripeError)) throw error;
  const { statusCode: status, message } = error;
  if (status === undefined || status >= 500 || status === 409) return { kind: "unknown", reason: message };
  const isDuplicate =
    status === 400 &&
    new RegExp(`already exists with identifier\\W*${identifier}(?![\\w-])`, "i").test(message);
  if (isDuplicate) return { kind: "duplicate" };
  return { kind: "refused", reason: `${status}: ${message}` };
}
