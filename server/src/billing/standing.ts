import type { Stripe } from "stripe";
import type { BillingStatus } from "../postgres/tables.ts";
import type { Standing } from "./accountStore.ts";

/** How long ingestion goes on after a failed invoice: three days. */
export const graceSeconds = 3 * 86_400;

/** What one reading of the processor says about a customer. */
export interface ProcessorFacts {
  /** Null while there was never a subscription that took effect: nothing follows from that. */
  standing: Standing | null;
  subscriptionId: string | null;
  /** Unix seconds; null with `subscriptionId`. */
  subscribedAt: number | null;
  hasPaymentMethod: boolean;
}

/** The best first: of several subscriptions the one that entitles most is the customer's. */
const ranking = ["active", "trialing", "past_due", "unpaid", "paused", "canceled"];

/**
 * Judges a customer by its subscriptions and open invoices. An unpaid subscription is failing rather than over:
 * the three days of grace run out by themselves.
 */
export function standingOf(
  subscriptions: readonly Stripe.Subscription[],
  openInvoices: readonly Stripe.Invoice[],
): Pick<ProcessorFacts, "standing" | "subscriptionId" | "subscribedAt"> {
  const [best] = subscriptions
    .filter((subscription) => ranking.includes(subscription.status))
    .sort((a, b) => ranking.indexOf(a.status) - ranking.indexOf(b.status) || a.created - b.created);
  if (best === undefined) return { standing: null, subscriptionId: null, subscribedAt: null };
  const found = { subscriptionId: best.id, subscribedAt: best.start_date };
  if (best.status === "canceled" || best.status === "paused") return { standing: "ended", ...found };
  const isFailing = best.status === "past_due" || best.status === "unpaid" || openInvoices.some(hasFailed);
  return { standing: isFailing ? "failing" : "paying", ...found };
}

/** A subscription's invoice that was to be collected and was not. */
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
 * What a change of standing does to an organization's state; undefined when nothing. Only a change counts, so that
 * an operator's decision lasts until the processor has news, and a second failed invoice does not renew the grace.
 * @param current the state as it reads now: a lapsed grace is `suspended`.
 */
export function changeAfter(
  current: BillingStatus,
  previous: Standing | null,
  standing: Standing | null,
  nowSeconds: number,
): StatusChange | undefined {
  if (current === "exempt" || standing === null || standing === previous) return undefined;
  switch (standing) {
    case "paying":
      return current === "active" ? undefined : { status: "active", graceEndsAt: null };
    case "failing": {
      // Pending: it was entitled for a moment that went by unseen.
      const isEntitled = current === "active" || (current === "pending" && previous === null);
      return isEntitled ? { status: "grace", graceEndsAt: nowSeconds + graceSeconds } : undefined;
    }
    case "ended": {
      const wasEntitled = previous !== null && (current === "active" || current === "grace");
      return wasEntitled ? { status: "suspended", graceEndsAt: null } : undefined;
    }
  }
}
