import type { Stripe } from "stripe";
import type { BillingStatus } from "../postgres/tables.ts";
import type { SubscriptionState } from "./accountStore.ts";

/** How long items are still accepted after a failed invoice: three days. */
export const graceSeconds = 3 * 86_400;

/** A customer's data at the processor, read at one time. */
export interface ProcessorFacts {
  /** Null if no subscription has ever taken effect; then the organization's billing state does not change. */
  subscriptionState: SubscriptionState | null;
  subscriptionId: string | null;
  /** Unix seconds; null exactly when `subscriptionId` is. */
  subscribedAt: number | null;
  hasPaymentMethod: boolean;
}

/** Statuses from best to worst: the best subscription decides for a customer who has several. */
const ranking = ["active", "trialing", "past_due", "unpaid", "paused", "canceled"];

/**
 * Derives the subscription state of a customer from its subscriptions and open invoices. An unpaid subscription is
 * `failing` and not `ended`: the organization is suspended when its grace period of three days ends.
 */
export function summarizeSubscriptions(
  subscriptions: readonly Stripe.Subscription[],
  openInvoices: readonly Stripe.Invoice[],
): Pick<ProcessorFacts, "subscriptionState" | "subscriptionId" | "subscribedAt"> {
  const [best] = subscriptions
    .filter((subscription) => ranking.includes(subscription.status))
    .sort((a, b) => ranking.indexOf(a.status) - ranking.indexOf(b.status) || a.created - b.created);
  if (best === undefined) return { subscriptionState: null, subscriptionId: null, subscribedAt: null };
  const found = { subscriptionId: best.id, subscribedAt: best.start_date };
  if (best.status === "canceled" || best.status === "paused") return { subscriptionState: "ended", ...found };
  // The subscription's status covers its latest invoice, which stays open for days while a bank debit is in progress.
  const earlier = openInvoices.filter(({ id }) => id !== best.latest_invoice);
  const isFailing = best.status === "past_due" || best.status === "unpaid" || earlier.some(hasFailed);
  return { subscriptionState: isFailing ? "failing" : "paying", ...found };
}

/** Whether this is an invoice of a subscription whose collection failed, or is in progress. */
function hasFailed(invoice: Stripe.Invoice): boolean {
  return (
    invoice.status === "open" &&
    invoice.attempted &&
    invoice.amount_remaining > 0 &&
    invoice.parent?.type === "subscription_details"
  );
}

export interface StatusChange {
  status: BillingStatus;
  /** Unix seconds; set exactly for `grace`. */
  graceEndsAt: number | null;
}

/**
 * Computes how a change of the subscription state changes the organization's billing state; undefined when it does not.
 * An unchanged subscription state has no effect, so that an operator's decision lasts until the processor reports a change,
 * and a second failed invoice does not begin another grace period.
 * @param current the present billing state, in which a lapsed grace period is `suspended`.
 */
export function changeAfter(
  current: BillingStatus,
  previous: SubscriptionState | null,
  next: SubscriptionState | null,
  nowSeconds: number,
): StatusChange | undefined {
  if (current === "exempt" || next === null || next === previous) return undefined;
  switch (next) {
    case "paying":
      return current === "active" ? undefined : { status: "active", graceEndsAt: null };
    case "failing": {
      // A pending organization began to pay and failed between two readings: it was active in between.
      const isEntitled = current === "active" || (current === "pending" && previous === null);
      return isEntitled ? { status: "grace", graceEndsAt: nowSeconds + graceSeconds } : undefined;
    }
    case "ended": {
      const wasEntitled = previous !== null && (current === "active" || current === "grace");
      return wasEntitled ? { status: "suspended", graceEndsAt: null } : undefined;
    }
  }
}
