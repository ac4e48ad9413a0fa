import { Stripe } from "stripe";
import type pg from "pg";
import type { StripeConfig } from "../config.ts";
import { ApiError } from "../http/errors.ts";

/** How old a signature may be. */
const toleranceSeconds = 300;

/** The notices after which the processor is read again; any other is accepted and ignored. */
const handledTypes = new Set([
  "checkout.session.completed",
  "customer.deleted",
  "customer.updated",
  "customer.subscription.created",
  "customer.subscription.updated",
  "customer.subscription.deleted",
  "customer.subscription.paused",
  "customer.subscription.resumed",
  "invoice.created",
  "invoice.finalized",
  "invoice.paid",
  "invoice.payment_failed",
  "invoice.voided",
  "invoice.marked_uncollectible",
]);

export interface ReceiveDeps {
  pool: pg.Pool;
  stripe: Stripe;
  config: StripeConfig;
  nowMs: () => number;
}

/**
 * Verifies a notice of the processor by its signature over the bytes as received, with either secret during a
 * rotation, and stores it once per event id; it is processed afterwards.
 * @returns whether something new waits to be processed.
 * @throws {ApiError} 400 when the signature is missing, wrong or too old.
 */
export async function receiveEvent(
  deps: ReceiveDeps,
  body: unknown,
  signature: string | string[] | undefined,
): Promise<boolean> {
  const event = verify(deps, body, signature);
  if (!handledTypes.has(event.type)) return false;
  const object = (event.data?.object ?? {}) as { id?: unknown; customer?: unknown; object?: unknown };
  const eventId = idOrNull(event.id);
  if (eventId === null) throw new ApiError(400, "the event has no id");
  const customer = object.object === "customer" ? object.id : object.customer;
  const nowSeconds = Math.floor(deps.nowMs() / 1000);
  const { rowCount } = await deps.pool.query({
    name: "store_billing_event",
    text: `insert into billing_events (id, type, customer_id, object_id, received_at, due_at)
           values ($1, $2, $3, $4, $5, $5)
           on conflict (id) do nothing`,
    values: [eventId, event.type, idOrNull(customer), idOrNull(object.id), nowSeconds],
  });
  return rowCount === 1;
}

function verify(deps: ReceiveDeps, body: unknown, signature: string | string[] | undefined): Stripe.Event {
  if (Buffer.isBuffer(body) && typeof signature === "string") {
    for (const secret of deps.config.webhookSecrets) {
      try {
        return deps.stripe.webhooks.constructEvent(
          body,
          signature,
          secret,
          toleranceSeconds,
          undefined,
          deps.nowMs(),
        );
      } catch (error) {
        const isRefusal = error instanceof Stripe.errors.StripeSignatureVerificationError;
        if (!isRefusal) throw new ApiError(400, "the body is not an event", { cause: error });
      }
    }
  }
  throw new ApiError(400, "the signature of the payment processor is missing or wrong");
}

/** An id of the processor; a customer may also come expanded. */
function idOrNull(value: unknown): string | null {
  if (typeof value === "string") return /^[\w-]{1,255}$/.test(value) ? value : null;
  if (value !== null && typeof value === "object" && "id" in value) return idOrNull(value.id);
  return null;
}
