import fc from "fast-check";
import type { Stripe } from "stripe";
import { describe, expect, it } from "vitest";
import type { BillingStatus } from "../postgres/tables.ts";
import type { SubscriptionState } from "./accountStore.ts";
import { changeAfter, graceSeconds, summarizeSubscriptions } from "./subscriptionState.ts";

const states: BillingStatus[] = ["pending", "active", "grace", "suspended", "exempt"];
const subscriptionStates: (SubscriptionState | null)[] = [null, "paying", "failing", "ended"];
const anySubscriptionState = fc.constantFrom(...subscriptionStates);
/** An organization's billing state, its previous subscription state and the next one. */
const anyChange = [fc.constantFrom(...states), anySubscriptionState, anySubscriptionState] as const;
const now = 1_800_000_000;

describe("a change of the subscription state", () => {
  it.each<[BillingStatus, SubscriptionState | null, SubscriptionState, BillingStatus | undefined]>([
    ["pending", null, "paying", "active"],
    ["active", "paying", "failing", "grace"],
    ["grace", "failing", "paying", "active"],
    ["suspended", "failing", "paying", "active"],
    ["active", "paying", "ended", "suspended"],
    ["grace", "failing", "ended", "suspended"],
    ["suspended", "ended", "paying", "active"],
    // Created before live billing was turned on, so it has no subscription to lose.
    ["active", null, "ended", undefined],
    // The grace period has lapsed; another failed invoice does not begin a new one.
    ["suspended", "paying", "failing", undefined],
  ])("from %s and %s to %s makes it %s", (current, previous, subscriptionState, next) => {
    expect(changeAfter(current, previous, subscriptionState, now)?.status).toBe(next);
  });

  it("never changes an exempt organization, nor any other while the subscription state is the same or unknown", () => {
    fc.assert(
      fc.property(...anyChange, (current, previous, subscriptionState) => {
        expect(changeAfter("exempt", previous, subscriptionState, now)).toBeUndefined();
        expect(changeAfter(current, subscriptionState, subscriptionState, now)).toBeUndefined();
        expect(changeAfter(current, previous, null, now)).toBeUndefined();
      }),
    );
  });

  it("sets an end three days later exactly when it begins a grace period", () => {
    fc.assert(
      fc.property(...anyChange, (current, previous, subscriptionState) => {
        const change = changeAfter(current, previous, subscriptionState, now);
        expect(change?.graceEndsAt ?? null).toBe(change?.status === "grace" ? now + graceSeconds : null);
      }),
    );
  });
});

describe("summarizeSubscriptions", () => {
  const subscription = (status: string, id = status): Stripe.Subscription =>
    ({ id, status, created: 1, start_date: 1 }) as Stripe.Subscription;
  const failed = {
    id: "in_1",
    status: "open",
    attempted: true,
    amount_remaining: 10,
    parent: { type: "subscription_details" },
  } as Stripe.Invoice;

  it.each([
    ["active", "paying"],
    ["trialing", "paying"],
    ["past_due", "failing"],
    ["unpaid", "failing"],
    ["paused", "ended"],
    ["canceled", "ended"],
    ["incomplete", null],
    ["incomplete_expired", null],
    ["a status of next year", null],
  ])("reads a subscription that is %s as %s", (status, subscriptionState) => {
    expect(summarizeSubscriptions([subscription(status)], []).subscriptionState).toBe(subscriptionState);
  });

  it("takes the best of several subscriptions, in whatever order they come", () => {
    const several = [subscription("canceled"), subscription("active"), subscription("past_due")];
    fc.assert(
      fc.property(fc.shuffledSubarray(several, { minLength: 3 }), (shuffled) => {
        expect(summarizeSubscriptions(shuffled, [])).toMatchObject({
          subscriptionState: "paying",
          subscriptionId: "active",
        });
      }),
    );
  });

  it("is paying while a bank debit of the latest invoice is in progress", () => {
    const active = { ...subscription("active"), latest_invoice: "in_2" };
    expect(summarizeSubscriptions([active], [{ ...failed, id: "in_2" }]).subscriptionState).toBe("paying");
    expect(summarizeSubscriptions([active], [failed]).subscriptionState).toBe("failing");
  });

  it("is failing while an invoice is open whose collection was attempted", () => {
    expect(summarizeSubscriptions([subscription("active")], [failed]).subscriptionState).toBe("failing");
    expect(
      summarizeSubscriptions([subscription("active")], [{ ...failed, attempted: false }]).subscriptionState,
    ).toBe("paying");
    expect(summarizeSubscriptions([subscription("canceled")], [failed]).subscriptionState).toBe("ended");
  });
});
