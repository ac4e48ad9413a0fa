import type { Stripe } from "stripe";
import { holdInvoice } from "./holdInvoices.ts";
import { askProcessor, type Processor, type ProcessorFailure } from "./processor.ts";
import type { Parts } from "../items/parts.ts";

/** Maximum age of a signature. */
const toleranceSeconds = 300;

/** Types of notices that are processed; others are accepted and ignored. */
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

export type ReceiveDeps = Processor & Pick<Parts, "pool" | "nowMs">;

export type ReceiveOutcome =
  /** `waits`: whether the stored notice still has to be processed. */
  | { outcome: "received"; waits: boolean }
  /** The signature is missing, wrong or too old, or the body is not an event. */
  | { outcome: "invalid"; message: string; cause?: unknown }
  /** The new invoice could not be held; the processor will send the notice again. */
  | ProcessorFailure;

/**
 * Verifies a notice of the processor by its signature over the received bytes, made with either secret during a
 * rotation, and stores it once per event id, for later processing. Only the notice of a new invoice is
 * processed before the answer: the processor keeps the draft open until it is answered, and the draft is held by then.
 */
export async function receiveEvent(
  deps: ReceiveDeps,
  body: unknown,
  signature: string | string[] | undefined,
): Promise<ReceiveOutcome> {
  const verified = verify(deps, body, signature);
  if (verified.outcome === "invalid") return verified;
  const notice = readNotice(verified.event);
  if (notice === undefined) return { outcome: "received", waits: false };
  const nowSeconds = Math.floor(deps.nowMs() / 1000);
  const { rows } = await deps.pool.query<{ waits: boolean }>({
    name: "store_billing_event",
    text: `with stored as (
             insert into billing_events (id, type, customer_id, object_id, received_at, due_at)
             values ($1, $2, $3, $4, $5, $5)
             on conflict (id) do nothing
             returning id
           )
           select
             exists (select from stored)
             or exists (select from billing_events where id = $1 and processed_at is null) as waits`,
    values: [notice.id, notice.type, notice.customerId, notice.objectId, nowSeconds],
  });
  const waits = rows[0]!.waits;
  if (!waits || notice.type !== "invoice.created") return { outcome: "received", waits };
  const held = await askProcessor(() => holdInvoice(deps, notice.customerId, notice.objectId));
  if (held.outcome !== "answered") return held;
  await deps.pool.query("update billing_events set processed_at = $2 where id = $1", [notice.id, nowSeconds]);
  return { outcome: "received", waits: false };
}

/** The fields to store of an event; undefined for a type or an object that is not handled. */
function readNotice(event: Stripe.Event) {
  if (!handledTypes.has(event.type)) return undefined;
  const object = (event.data?.object ?? {}) as { id?: unknown; customer?: unknown; object?: unknown };
  const id = idOrNull(event.id);
  const objectId = idOrNull(object.id);
  const customerId = idOrNull(object.object === "customer" ? object.id : object.customer);
  if (id === null || objectId === null || customerId === null) return undefined;
  return { id, type: event.type, customerId, objectId };
}

function verify(
  deps: ReceiveDeps,
  body: unknown,
  signature: string | string[] | undefined,
): { outcome: "verified"; event: Stripe.Event } | Extract<ReceiveOutcome, { outcome: "invalid" }> {
  if (!Buffer.isBuffer(body) || typeof signature !== "string" || !isSigned(deps, body, signature)) {
    return { outcome: "invalid", message: "the signature of the payment processor is missing or wrong" };
  }
  try {
    const event: unknown = JSON.parse(body.toString("utf8"));
    if (event !== null && typeof event === "object") {
      return { outcome: "verified", event: event as Stripe.Event };
    }
  } catch (error) {
    return { outcome: "invalid", message: "the body is not valid JSON", cause: error };
  }
  return { outcome: "invalid", message: "the body is not an event" };
}

function isSigned({ stripe, config, nowMs }: ReceiveDeps, body: Buffer, signature: string): boolean {
  return config.webhookSecrets.some((secret) => {
    try {
      return stripe.webhooks.signature!.verifyHeader(
        body,
        signature,
        secret,
        toleranceSeconds,
        undefined,
        nowMs(),
      );
    } catch {
      // `verifyHeader` throws for a wrong or malformed signature.
      return false;
    }
  });
}

/** The processor's id of an object, which may be given as its id or as the expanded object. */
function idOrNull(value: unknown): string | null {
  if (typeof value === "string") return /^[\w-]{1,255}$/.test(value) ? value : null;
  if (value !== null && typeof value === "object" && "id" in value) return idOrNull(value.id);
  return null;
}
