import { describe, expect } from "vitest";
import { setStatus, suspendLapsedGraces } from "../src/billing/changeStatus.ts";
import { pendingItems, readLedgerMonth } from "../src/billing/ledger.ts";
import { addMonths, periodBounds, periodOf } from "../src/billing/period.ts";
import { reconcile } from "../src/billing/reconciliation.ts";
import { createLab } from "./support/billing/lab.ts";
import { file, databaseTest } from "./support/fixtures.ts";

/* The billing state follows the processor's facts, whatever order its notices come in. */

const day = 86_400;
const start = Date.UTC(2026, 9, 10, 12) / 1000;
const october = 202610;

let tests = 0;

const it = databaseTest({ poolSize: 6 })
  .extend("lab", async ({ pool, standIn }, { onCleanup }) => {
    const lab = await createLab(pool, standIn.account(`states_${tests++}`), start);
    onCleanup(() => lab.close());
    return lab;
  })
  .extend(
    "subscribed",
    ({ lab }) =>
      async (): Promise<{ orgId: string; customer: string; subscription: string }> => {
        const orgId = await lab.createOrganization();
        await lab.subscribe(orgId);
        await lab.settleNotices();
        expect(await lab.statusOf(orgId)).toBe("active");
        const { subscriptions } = await lab.account.state();
        const { id, customer } = subscriptions.at(-1)!;
        return { orgId, customer, subscription: id };
      },
  )
  /** Goes to the month's end and past the hour in which the draft is open, with the usage exported. */
  .extend("endMonth", ({ lab }) => async (): Promise<void> => {
    const { endSeconds } = periodBounds(periodOf(lab.nowSeconds() * 1000));
    for (const second of [0, 300, 3600, 3900]) {
      await lab.setClock(endSeconds + second);
      await lab.exportOnce();
      await lab.settleNotices();
    }
  })
  .extend("historyOf", file, ({ pool }) => async (orgId: string): Promise<string[]> => {
    const { rows } = await pool.query<{ line: string }>(
      `select from_status || ' → ' || to_status || ' by ' || split_part(cause, ' evt', 1) as line
     from billing_state_changes
     where org_id = $1
     order by id`,
      [orgId],
    );
    return rows.map(({ line }) => line);
  })
  .extend("graceEnd", file, ({ pool }) => async (orgId: string): Promise<number | null> => {
    const { rows } = await pool.query<{ at: number | null }>(
      "select billing_grace_ends_at as at from organizations where id = $1",
      [orgId],
    );
    return rows[0]!.at;
  });

describe("a failed invoice", () => {
  it("gives three days of grace, then suspends by the clock; payment makes active again", async ({
    subscribed,
    lab,
    endMonth,
    graceEnd,
    pool,
    historyOf,
  }) => {
    const { orgId, customer } = await subscribed();
    await lab.addUsage(orgId, 1500);
    await lab.account.control({ action: "card", customer, fails: true });
    await endMonth();
    expect(await lab.statusOf(orgId)).toBe("grace");
    const endsAt = periodBounds(october).endSeconds + 3600 + 3 * day;
    expect(await graceEnd(orgId)).toBe(endsAt);
    // Another failing attempt does not begin a new grace.
    const { invoices } = await lab.account.state();
    await lab.setClock(lab.nowSeconds() + day);
    await lab.account.control({ action: "collect", invoice: invoices[0]!.id });
    await lab.settleNotices();
    expect(await graceEnd(orgId)).toBe(endsAt);
    await lab.setClock(endsAt);
    expect(await suspendLapsedGraces(pool, lab.nowSeconds())).toBe(1);
    expect(await lab.statusOf(orgId)).toBe("suspended");
    await lab.account.control({ action: "collect", invoice: invoices[0]!.id });
    await lab.settleNotices();
    expect(await lab.statusOf(orgId)).toBe("suspended");
    await lab.account.control({ action: "card", customer, fails: false });
    await lab.account.control({ action: "collect", invoice: invoices[0]!.id });
    await lab.settleNotices();
    expect(await lab.statusOf(orgId)).toBe("active");
    expect(await historyOf(orgId)).toEqual([
      "pending → active by stripe",
      "active → grace by stripe",
      "grace → suspended by grace ended",
      "suspended → active by stripe",
    ]);
    const { rows } = await pool.query(
      `select concat(actor_name, ': ', after ->> 'billing_status') as told
       from audit_log
       where org_id = $1
         and action = 'billing.state_changed'
       order by id`,
      [orgId],
    );
    expect(rows.map(({ told }) => told)).toEqual([
      expect.stringMatching(/^stripe evt_\w+: active$/),
      expect.stringMatching(/^stripe evt_\w+: grace$/),
      "billing: suspended",
      expect.stringMatching(/^stripe evt_\w+: active$/),
    ]);
  });

  it("that is paid within the grace leaves no trace but the record", async ({
    subscribed,
    lab,
    endMonth,
    graceEnd,
  }) => {
    const { orgId, customer } = await subscribed();
    await lab.addUsage(orgId, 1);
    await lab.account.control({ action: "card", customer, fails: true });
    await endMonth();
    const { invoices } = await lab.account.state();
    await lab.account.control({ action: "card", customer, fails: false });
    await lab.account.control({ action: "collect", invoice: invoices[0]!.id });
    await lab.settleNotices();
    expect(await lab.statusOf(orgId)).toBe("active");
    expect(await graceEnd(orgId)).toBeNull();
  });

  it("counts a lapsed grace as suspended also where nobody wrote it down", async ({
    subscribed,
    lab,
    endMonth,
    pool,
    historyOf,
  }) => {
    const { orgId, customer } = await subscribed();
    await lab.addUsage(orgId, 1);
    await lab.account.control({ action: "card", customer, fails: true });
    await endMonth();
    await lab.setClock(lab.nowSeconds() + 4 * day);
    await setStatus(pool, {
      orgId,
      status: "active",
      cause: "operator ada",
      actor: { kind: "operator", name: "ada" },
      nowSeconds: lab.nowSeconds(),
    });
    expect((await historyOf(orgId)).slice(-2)).toEqual([
      "grace → suspended by grace ended",
      "suspended → active by operator ada",
    ]);
  });
});

describe("notices", () => {
  it("in any order, twice, and late lead to the state that the processor is in", async ({
    subscribed,
    lab,
    endMonth,
  }) => {
    const { orgId, customer } = await subscribed();
    await lab.addUsage(orgId, 10);
    await lab.account.control({ action: "card", customer, fails: true });
    await endMonth();
    const { invoices, outbox } = await lab.account.state();
    await lab.account.control({ action: "card", customer, fails: false });
    await lab.account.control({ action: "collect", invoice: invoices[0]!.id });
    const { outbox: after } = await lab.account.state();
    const news = [...after.keys()].slice(outbox.length).reverse();
    const old = [...outbox.keys()].reverse();
    await lab.account.control({ action: "deliver", order: [...news, ...old, ...news, ...old] });
    await lab.processOnce();
    expect(await lab.statusOf(orgId)).toBe("active");
  });

  it("wait while the processor is away, and are processed once it is back", async ({ lab }) => {
    const orgId = await lab.createOrganization();
    await lab.subscribe(orgId);
    await lab.account.control({
      action: "faults",
      faults: [{ match: "GET /v1/", kind: "error_before", times: 1000 }],
    });
    await lab.settleNotices();
    expect(await lab.statusOf(orgId)).toBe("pending");
    await lab.account.control({ action: "faults", faults: [] });
    // Not before the pause after a failure is over.
    expect(await lab.processOnce()).toEqual({ processed: 0, failed: 0 });
    await lab.setClock(lab.nowSeconds() + 5);
    await lab.processOnce();
    expect(await lab.statusOf(orgId)).toBe("active");
  });

  it("of strangers change nothing", async ({ subscribed, lab }) => {
    const { orgId } = await subscribed();
    const object = { id: "sub_x", object: "subscription", customer: "cus_unknown", status: "canceled" };
    await lab.account.control({ action: "emit", type: "customer.subscription.deleted", object });
    await lab.settleNotices();
    expect(await lab.statusOf(orgId)).toBe("active");
  });

  it("cannot undo a newer reading with an older one", async ({ subscribed, lab, historyOf }) => {
    const { orgId, subscription } = await subscribed();
    await lab.account.control({ action: "cancel", subscription });
    await lab.account.control({ action: "deliver" });
    // Two processes work on the same notices at the same moment.
    await Promise.all([lab.processOnce(), lab.processOnce(), lab.processOnce()]);
    expect(await lab.statusOf(orgId)).toBe("suspended");
    expect(await historyOf(orgId)).toEqual(["pending → active by stripe", "active → suspended by stripe"]);
  });
});

describe("the end of a subscription", () => {
  it("suspends; a new one makes active again", async ({ subscribed, lab }) => {
    const { orgId, subscription } = await subscribed();
    await lab.account.control({ action: "cancel", subscription });
    await lab.settleNotices();
    expect(await lab.statusOf(orgId)).toBe("suspended");
    await lab.setClock(lab.nowSeconds() + 60);
    await lab.subscribe(orgId);
    await lab.settleNotices();
    expect(await lab.statusOf(orgId)).toBe("active");
  });

  it("by not paying leaves the grace its three days", async ({ subscribed, lab, endMonth }) => {
    const { orgId, customer, subscription } = await subscribed();
    await lab.addUsage(orgId, 1);
    await lab.account.control({ action: "card", customer, fails: true });
    await endMonth();
    await lab.account.control({ action: "mark unpaid", subscription });
    const object = { id: subscription, object: "subscription", customer };
    await lab.account.control({ action: "emit", type: "customer.subscription.updated", object });
    await lab.settleNotices();
    expect(await lab.statusOf(orgId)).toBe("grace");
  });
});

describe("an operator's decision", () => {
  it("stands until the processor has news", async ({ subscribed, lab, pool }) => {
    const { orgId, customer } = await subscribed();
    const nowSeconds = lab.nowSeconds();
    await setStatus(pool, {
      orgId,
      status: "suspended",
      cause: "operator ada: abuse",
      actor: { kind: "operator", name: "ada" },
      nowSeconds,
    });
    const object = { id: customer, object: "customer" };
    await lab.account.control({ action: "emit", type: "customer.updated", object });
    await lab.settleNotices();
    expect(await lab.statusOf(orgId)).toBe("suspended");
  });

  it("to exempt is never changed by the processor, and what was accepted meanwhile is never charged", async ({
    subscribed,
    lab,
    pool,
  }) => {
    const { orgId, customer } = await subscribed();
    await lab.addUsage(orgId, 100);
    await lab.exportOnce();
    const set = (status: "exempt" | "active"): Promise<unknown> =>
      setStatus(pool, {
        orgId,
        status,
        cause: "operator ada",
        actor: { kind: "operator", name: "ada" },
        nowSeconds: lab.nowSeconds(),
      });
    await set("exempt");
    await lab.addUsage(orgId, 5000);
    await lab.exportOnce();
    await lab.account.control({ action: "card", customer, fails: true });
    await lab.account.control({
      action: "emit",
      type: "customer.updated",
      object: { id: customer, object: "customer" },
    });
    await lab.settleNotices();
    expect(await lab.statusOf(orgId)).toBe("exempt");
    await set("active");
    await lab.addUsage(orgId, 11);
    await lab.exportOnce();
    const { meterEvents } = await lab.account.state();
    expect(meterEvents.map(({ value }) => value)).toEqual([100, 11]);
    expect(await readLedgerMonth(pool, orgId, october)).toMatchObject({
      accepted: 5111,
      waived: 5000,
      exported: 111,
    });
    const processor = { stripe: lab.stripe, config: lab.config };
    const nowMs = (): number => lab.nowSeconds() * 1000;
    expect(await reconcile({ pool, nowMs, processor }, orgId)).toMatchObject({
      status: "reconciled",
      accepted_events: 5111,
      processor_events: 111,
      estimated_cents: 10,
    });
  });
});

describe("months", () => {
  it("are invoiced apart, the items after the last moment on the next invoice", async ({
    subscribed,
    lab,
    endMonth,
    pool,
  }) => {
    const { orgId, customer } = await subscribed();
    await lab.addUsage(orgId, 1000);
    await lab.exportOnce();
    const { endSeconds } = periodBounds(october);
    await lab.setClock(endSeconds - 1);
    await lab.addUsage(orgId, 1);
    await lab.setClock(endSeconds);
    await lab.addUsage(orgId, 2);
    await lab.settleNotices();
    await lab.exportOnce();
    await endMonth();
    const { meterEvents, invoices } = await lab.account.state();
    const sum = (from: number, to: number): number =>
      meterEvents
        .filter(({ timestamp }) => timestamp >= from && timestamp < to)
        .reduce((total, { value }) => total + value, 0);
    expect(sum(start, endSeconds)).toBe(1001);
    expect(sum(endSeconds, Number.POSITIVE_INFINITY)).toBe(2);
    const billed = invoices.filter((invoice) => invoice.customer === customer && invoice.status === "paid");
    expect(billed.map(({ subtotal }) => subtotal)).toEqual([20, 10]);
    const processor = { stripe: lab.stripe, config: lab.config };
    const nowMs = (): number => lab.nowSeconds() * 1000;
    expect((await reconcile({ pool, nowMs, processor }, orgId)).latest_invoice).toMatchObject({
      status: "paid",
      period_end: periodBounds(addMonths(october, 1)).endSeconds,
      subtotal_cents: 10,
      local_estimate_cents: 10,
      difference_cents: 0,
    });
  });

  it("before the subscription are never exported; its own month is, as a whole", async ({ lab, pool }) => {
    const orgId = await lab.createOrganization("active");
    await lab.setClock(start - 40 * day);
    await lab.addUsage(orgId, 7);
    await lab.setClock(start);
    await lab.addUsage(orgId, 30);
    await lab.exportOnce();
    expect((await lab.account.state()).meterEvents).toEqual([]);
    expect(pendingItems(await readLedgerMonth(pool, orgId, october))).toBe(30);
    await lab.subscribe(orgId);
    await lab.settleNotices();
    await lab.exportOnce();
    const { meterEvents, subscriptions } = await lab.account.state();
    expect(meterEvents.map(({ value }) => value)).toEqual([30]);
    expect(meterEvents[0]!.timestamp).toBeGreaterThanOrEqual(subscriptions[0]!.created);
    expect(pendingItems(await readLedgerMonth(pool, orgId, october))).toBe(0);
  });

  it("wait for their invoice while usage is on its way, for days if need be", async ({
    subscribed,
    lab,
    endMonth,
  }) => {
    const { orgId } = await subscribed();
    await lab.addUsage(orgId, 4200);
    await lab.account.control({
      action: "faults",
      faults: [{ match: "meter_events", kind: "error_before", times: 100_000 }],
    });
    await endMonth();
    await lab.setClock(lab.nowSeconds() + 10 * day);
    expect((await lab.account.state()).invoices[0]).toMatchObject({ status: "draft", autoAdvance: false });
    await lab.account.control({ action: "faults", faults: [] });
    await lab.exportOnce();
    await lab.setClock(lab.nowSeconds() + 60);
    expect((await lab.account.state()).invoices[0]).toMatchObject({ status: "paid", subtotal: 50 });
  });
});

describe("exporters on several nodes", () => {
  it("send each customer's usage once, and never two batches of a customer at a time", async ({
    subscribed,
    lab,
  }) => {
    const orgIds: string[] = [];
    for (let count = 0; count < 12; count++) orgIds.push((await subscribed()).orgId);
    let accepted = 0;
    for (let round = 0; round < 5; round++) {
      for (const [index, orgId] of orgIds.entries()) {
        await lab.addUsage(orgId, index + 1);
        accepted += index + 1;
      }
      const runs = await Promise.all([lab.exportOnce(), lab.exportOnce(), lab.exportOnce()]);
      expect(runs.filter(({ written }) => written > 0)).toHaveLength(1);
      await lab.setClock(lab.nowSeconds() + 10);
    }
    const { meterEvents, overlaps } = await lab.account.state();
    expect(meterEvents.reduce((sum, { value }) => sum + value, 0)).toBe(accepted);
    expect(meterEvents).toHaveLength(60);
    expect(overlaps).toBe(0);
  });
});

describe("a batch that nobody knows the fate of", () => {
  const lost = { match: "meter_events", kind: "lose", times: 2 } as const;

  it("is not sent again after 23 hours, but found in the meter's summary", async ({ subscribed, lab }) => {
    const { orgId } = await subscribed();
    await lab.addUsage(orgId, 77);
    await lab.account.control({ action: "faults", faults: [lost] });
    expect(await lab.exportOnce()).toMatchObject({ written: 1, exported: 0, postponed: 1 });
    await lab.setClock(lab.nowSeconds() + 30 * 3600);
    expect(await lab.exportOnce()).toMatchObject({ exported: 1 });
    expect((await lab.account.state()).meterEvents.map(({ value }) => value)).toEqual([77]);
  });

  it("is left to an operator when the summary fits neither story, and later usage goes on", async ({
    subscribed,
    lab,
    pool,
  }) => {
    const { orgId, customer } = await subscribed();
    await lab.addUsage(orgId, 77);
    await lab.account.control({ action: "faults", faults: [lost] });
    await lab.exportOnce();
    await lab.stripe.billing.meterEvents.create({
      event_name: "items_accepted",
      identifier: "somebody-else",
      payload: { stripe_customer_id: customer, value: "5" },
      timestamp: lab.nowSeconds(),
    });
    await lab.setClock(lab.nowSeconds() + 30 * 3600);
    expect(await lab.exportOnce()).toMatchObject({ exported: 0, escalated: 1 });
    await lab.addUsage(orgId, 3);
    expect(await lab.exportOnce()).toMatchObject({ exported: 1 });
    expect((await lab.account.state()).meterEvents.map(({ value }) => value)).toEqual([77, 5, 3]);
    expect(pendingItems(await readLedgerMonth(pool, orgId, october))).toBe(77);
  });
});
