import type { Stripe } from "stripe";
import type { StripeConfig } from "../config/config.ts";
import type { MeterBatch } from "./meterBatches.ts";
import { stripeLibrary } from "./stripeLibrary.ts";

/**
 * The result of sending a batch: the processor has stored it now (`confirmed`) or before (`duplicate`), has refused it,
 * or has given no clear answer (`unknown`).
 */
export type SendOutcome =
  | { kind: "confirmed" }
  | { kind: "duplicate" }
  | { kind: "refused"; reason: string }
  | { kind: "unknown"; reason: string };

/** Sends one batch. Failures of the processor and the network are outcomes, not errors. */
export async function sendBatch(
  processor: { stripe: Stripe; config: StripeConfig },
  batch: MeterBatch,
): Promise<SendOutcome> {
  try {
    // Without an idempotency key: the processor would repeat its answer, even a failure. The identifier keeps a batch
    // from counting twice.
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

/** Classifies an error of sending. @throws the error itself when it is not the processor's. */
export function classifySendError(error: unknown, identifier: string): SendOutcome {
  if (!(error instanceof stripeLibrary().errors.StripeError)) throw error;
  const { statusCode: status, message } = error;
  if (status === undefined || status >= 500 || status === 409) return { kind: "unknown", reason: message };
  const isDuplicate =
    status === 400 &&
    new RegExp(`already exists with identifier\\W*${identifier}(?![\\w-])`, "i").test(message);
  if (isDuplicate) return { kind: "duplicate" };
  return { kind: "refused", reason: `${status}: ${message}` };
}
