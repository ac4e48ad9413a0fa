import fc from "fast-check";
import type { Stripe } from "stripe";
import { describe, expect, it } from "vitest";
import type { BillingStatus } from "../postgres/tables.ts";
import type { Standing } from "./accountStore.ts";
import { changeAfter, graceSeconds, standingOf } from "./standing.ts";

const states: BillingStatus[] = ["pending", "active", "grace", "suspended", "exempt"];
const standings: (Standing | null)[] = [null, "paying", "failing", "ended"];
const anyState = fc.constantFrom(...states);
const anyStanding = fc.constantFrom(...standings);
const now = 1_800_000_000;

describe("a change of standing", () => {
  it.each<[BillingStatus, Standing | null, Standing, BillingStatus | undefined]>([
    ["pending", null, "paying", "active"],
    ["active", "paying", "failing", "grace"],
    ["grace", "failing", "paying", "active"],
    ["suspended", "failing", "paying", "active"],
    ["active", "paying", "ended", "suspended"],
    ["grace", "failing", "ended", "suspended"],
    ["suspended", "ended", "paying", "active"],
    // Created before live billing was switched on, and without a subscription to lose.
    ["active", null, "ended", undefined],
    // The grace has run out: another failed invoice does not begin a new one.
    ["suspended", "paying", "failing", undefined],
  ])("from %s and %s to %s makes it %s", (current, previous, standing, next) => {
    expect(changeAfter(current, previous, standing, now)?.status).toBe(next);
  });

  it("never touches an exempt workspace, and without news changes nothing", () => {
    fc.assert(
      fc.property(anyState, anyStanding, anyStanding, (current, previous, standing) => {
        expect(changeAfter("exempt", previous, standing, now)).toBeUndefined();
        expect(changeAfter(current, standing, standing, now)).toBeUndefined();
        expect(changeAfter(current, previous, null, now)).toBeUndefined();
      }),
    );
  });

  it("gives three days exactly when it gives grace", () => {
    fc.assert(
      fc.property(anyState, anyStanding, anyStanding, (current, previous, standing) => {
        const change = changeAfter(current, previous, standing, now);
        expect(change?.graceEndsAt ?? null).toBe(change?.status === "grace" ? now + graceSeconds : null);
      }),
    );
  });
});

describe("standingOf", () => {
  const subscription = (status: string, id = status): Stripe.Subscription =>
    ({ id, status, created: 1, start_date: 1 }) as Stripe.Subscription;
  const failed = {
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
  ])("reads a subscription that is %s as %s", (status, standing) => {
    expect(standingOf([subscription(status)], []).standing).toBe(standing);
  });

  it("takes the best of several subscriptions in any order", () => {
    const several = [subscription("canceled"), subscription("active"), subscription("past_due")];
    fc.assert(
      fc.property(fc.shuffledSubarray(several, { minLength: 3 }), (shuffled) => {
        expect(standingOf(shuffled, [])).toMatchObject({ standing: "paying", subscriptionId: "active" });
      }),
    );
  });

  it("is failing while an invoice that was to be collected is open", () => {
    expect(standingOf([subscription("active")], [failed]).standing).toBe("failing");
    expect(standingOf([subscription("active")], [{ ...failed, attempted: false }]).standing).toBe("paying");
    expect(standingOf([subscription("canceled")], [failed]).standing).toBe("ended");
  });
});
