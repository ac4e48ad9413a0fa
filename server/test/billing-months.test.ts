import { describe, expect, onTestFinished } from "vitest";
import { findAccount, renewCustomerAttempt } from "../src/billing/accountStore.ts";
import { addMonths, pendingItems, periodBounds, readLedgerMonth } from "../src/billing/ledger.ts";
import { forgetBatches } from "../src/billing/meterBatches.ts";
import { reconcile } from "../src/billing/reconciliation.ts";
import { citusUrl } from "./support/citus.ts";
import { labTest } from "./support/billing/labTest.ts";
import { holdRows } from "./support/heldLocks.ts";
import { until } from "./support/until.ts";
import { countRows } from "./support/unseenRows.ts";

/*
 * Accepted items are invoiced once, in their month, whichever process exports them and whichever requests are
 * lost.
 */

const day = 86_400;
const start = Date.UTC(2026, 9, 10, 12) / 1000;
const october = 202610;

const it = labTest(start);

describe("months", () => {
  it("are invoiced separately; items after the last moment are on the next invoice", async ({
    lab,
    pool,
  }) => {
    const { orgId, customer } = await lab.subscribed(1000);
    const { endSeconds } = periodBounds(october);
    await lab.setClock(endSeconds - 1);
    await lab.addUsage(orgId, 1);
    await lab.setClock(endSeconds);
    await lab.addUsage(orgId, 2);
    await lab.settleNotices();
    await lab.exportOnce();
    await lab.endMonth();
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
    expect(await reconcile({ pool, nowMs, processor }, orgId)).toMatchObject({
      outcome: "compared",
      comparison: {
        latest_invoice: {
          status: "paid",
          period_end: periodBounds(addMonths(october, 1)).endSeconds,
          subtotal_cents: 10,
          local_estimate_cents: 10,
          difference_cents: 0,
        },
      },
    });
    const inEuros = async (...query: Parameters<typeof lab.stripe.invoices.list>) => {
      const found = await lab.stripe.invoices.list(...query);
      for (const invoice of found.data) invoice.currency = "eur";
      return found;
    };
    const stripe = Object.assign(Object.create(lab.stripe), { invoices: { list: inEuros } });
    expect(await reconcile({ pool, nowMs, processor: { ...processor, stripe } }, orgId)).toMatchObject({
      comparison: { latest_invoice: { currency: "eur", subtotal_cents: 10, difference_cents: null } },
    });
  });

  it("stay counted as exported when their batches are deleted, at the end of the next month", async ({
    lab,
    pool,
  }) => {
    const { orgId } = await lab.subscribed(1000);
    const forgotten: number[] = [];
    for (const month of [october, addMonths(october, 1)]) {
      await lab.setClock(periodBounds(month).endSeconds);
      await lab.addUsage(orgId, 2);
      await lab.exportOnce();
      forgotten.push(await forgetBatches(pool, lab.nowSeconds()));
    }
    expect(forgotten).toEqual([0, 1]);
    expect(await countRows(pool, "meter_batches", { org_id: orgId })).toBe(2);
    await lab.exportOnce();
    const { meterEvents } = await lab.account.state();
    expect(meterEvents.map(({ value }) => value)).toEqual([1000, 2, 2]);
    expect((await readLedgerMonth(pool, orgId, october))!.exported).toBe(1000);
  });

  it("of a deleted customer hold no draft, also before another customer is created", async ({
    lab,
    pool,
  }) => {
    const { orgId, customer } = await lab.subscribed(1000);
    await lab.setClock(periodBounds(october).endSeconds);
    await lab.settleNotices();
    await lab.account.control({ action: "delete customer", customer });
    await renewCustomerAttempt(pool, (await findAccount(pool, "org_id", orgId))!);
    await lab.setClock(lab.nowSeconds() + 300);
    expect(await lab.exportOnce()).toMatchObject({ released: 1 });
  });

  it("before the subscription are never exported; the month of the subscription is exported completely", async ({
    lab,
    pool,
  }) => {
    const orgId = await lab.createOrganization("active");
    await lab.setClock(start - 40 * day);
    await lab.addUsage(orgId, 7);
    await lab.setClock(start);
    await lab.addUsage(orgId, 30);
    await lab.exportOnce();
    expect((await lab.account.state()).meterEvents).toEqual([]);
    expect(pendingItems((await readLedgerMonth(pool, orgId, october))!)).toBe(30);
    await lab.subscribe(orgId);
    await lab.settleNotices();
    await lab.exportOnce();
    const { meterEvents, subscriptions } = await lab.account.state();
    expect(meterEvents.map(({ value }) => value)).toEqual([30]);
    expect(meterEvents[0]!.timestamp).toBeGreaterThanOrEqual(subscriptions[0]!.created);
    expect(pendingItems((await readLedgerMonth(pool, orgId, october))!)).toBe(0);
  });

  it("are invoiced only after their usage was exported, if necessary days later", async ({ lab }) => {
    const { orgId } = await lab.subscribed();
    await lab.addUsage(orgId, 4200);
    await lab.account.control({
      action: "faults",
      faults: [{ match: "meter_events", kind: "error_before", times: 100_000 }],
    });
    await lab.endMonth();
    await lab.setClock(lab.nowSeconds() + 10 * day);
    expect((await lab.account.state()).invoices[0]).toMatchObject({ status: "draft", autoAdvance: false });
    await lab.account.control({ action: "faults", faults: [] });
    await lab.exportOnce();
    await lab.setClock(lab.nowSeconds() + 60);
    expect((await lab.account.state()).invoices[0]).toMatchObject({ status: "paid", subtotal: 50 });
  });

  it("are invoiced although the processor refuses to finalize another customer's draft", async ({ lab }) => {
    const gone = await lab.subscribed();
    const refused = await lab.subscribed();
    const { customer } = await lab.subscribed();
    for (const { orgId } of [gone, refused]) await lab.addUsage(orgId, 1000);
    await lab.exportOnce();
    await lab.setClock(periodBounds(october).endSeconds);
    await lab.settleNotices();
    await lab.account.control({ action: "delete customer", customer: gone.customer });
    const drafts = (await lab.account.state()).invoices;
    const { id } = drafts.find((invoice) => invoice.customer === refused.customer)!;
    const refusal = { match: `POST /v1/invoices/${id}`, kind: "error_before", times: 1_000 } as const;
    await lab.account.control({ action: "faults", faults: [refusal] });
    await lab.setClock(lab.nowSeconds() + 300);
    expect(await lab.exportOnce()).toMatchObject({ released: 2 });
    await lab.setClock(lab.nowSeconds() + 3600);
    const { invoices } = await lab.account.state();
    const statusOf = (of: string): string | undefined =>
      invoices.find((invoice) => invoice.customer === of)?.status;
    expect([statusOf(customer), statusOf(refused.customer)]).toEqual(["paid", "draft"]);
    await lab.account.control({ action: "faults", faults: [] });
    expect(await lab.exportOnce()).toMatchObject({ released: 1 });
  });

  it("are invoiced although the notice of their draft comes late and holding the draft is slow", async ({
    lab,
  }) => {
    await lab.subscribed();
    await lab.setClock(periodBounds(october).endSeconds + 7200);
    // The draft is recorded; the request to hold it times out here but still reaches the processor.
    await lab.account.control({
      action: "faults",
      faults: [{ match: "POST /v1/invoices/", kind: "error_before", times: 1 }],
    });
    await lab.settleNotices();
    const { invoices } = await lab.account.state();
    expect(await lab.exportOnce()).toMatchObject({ released: 0 });
    await lab.stripe.invoices.update(invoices[0]!.id, { auto_advance: false });
    await lab.setClock(lab.nowSeconds() + 60);
    expect(await lab.exportOnce()).toMatchObject({ released: 1 });
    await lab.settleNotices();
    expect((await lab.account.state()).invoices[0]).toMatchObject({ status: "paid" });
  });

  it("are invoiced while the release of another customer's draft waits", async ({ lab, pool, skip }) => {
    skip(citusUrl !== undefined, "Citus serializes the writes to a reference table");
    for (let count = 0; count < 2; count++) await lab.subscribed();
    await lab.setClock(periodBounds(october).endSeconds);
    await lab.settleNotices();
    await lab.setClock(lab.nowSeconds() + 300);
    const drafts = (await lab.account.state()).invoices.map(({ id }) => id).sort();
    const letGo = await holdRows(pool, "held_invoices", { invoice_id: drafts[0]! });
    onTestFinished(letGo);
    const exporting = lab.exportOnce();
    await until(async () => (await lab.countWaiting()) === 1);
    await letGo();
    expect(await exporting).toMatchObject({ released: 2 });
  });

  it("are invoiced although hundreds of earlier drafts wait for usage", async ({ lab }) => {
    const { orgId } = await lab.subscribed();
    await lab.setClock(start - 20 * day);
    await lab.addUsage(orgId, 7);
    await lab.setClock(start);
    await lab.holdDrafts(orgId, 202609, 200);
    await lab.setClock(periodBounds(october).endSeconds);
    await lab.settleNotices();
    await lab.setClock(lab.nowSeconds() + 300);
    expect(await lab.exportOnce()).toMatchObject({ released: 1 });
  });
});

describe("exporters on several nodes", () => {
  it("send each customer's usage once, and never two batches of a customer at a time", async ({ lab }) => {
    const orgIds: string[] = [];
    for (let count = 0; count < 12; count++) orgIds.push((await lab.subscribed()).orgId);
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

describe("a batch with an unknown outcome", () => {
  const lost = { match: "meter_events", kind: "lose", times: 2 } as const;

  it("is not sent again after 23 hours, but looked up in the meter's summary", async ({ lab }) => {
    const { orgId } = await lab.subscribed();
    await lab.addUsage(orgId, 77);
    await lab.account.control({ action: "faults", faults: [lost] });
    expect(await lab.exportOnce()).toMatchObject({ written: 1, exported: 0, postponed: 1 });
    await lab.setClock(lab.nowSeconds() + 30 * 3600);
    expect(await lab.exportOnce()).toMatchObject({ exported: 1 });
    expect((await lab.account.state()).meterEvents.map(({ value }) => value)).toEqual([77]);
  });

  it("is left to an operator when the summary matches neither outcome, and later usage is still exported", async ({
    lab,
    pool,
  }) => {
    const { orgId, customer } = await lab.subscribed();
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
    expect(pendingItems((await readLedgerMonth(pool, orgId, october))!)).toBe(77);
  });

  it("of deleted customers is finally left to an operator, and delays no other customer", async ({ lab }) => {
    // The number of failures after which the processor counts as unavailable.
    const gone: { orgId: string; customer: string }[] = [];
    while (gone.length < 8) gone.push(await lab.subscribed());
    for (const { orgId } of gone) await lab.addUsage(orgId, 7);
    await lab.account.control({ action: "faults", faults: [{ ...lost, times: 2 * gone.length }] });
    expect(await lab.exportOnce()).toMatchObject({ written: 8, postponed: 8 });
    for (const { customer } of gone) await lab.account.control({ action: "delete customer", customer });
    await lab.setClock(lab.nowSeconds() + 30 * 3600);
    expect(await lab.exportOnce()).toMatchObject({ postponed: 8 });
    const { orgId } = await lab.subscribed();
    await lab.setClock(lab.nowSeconds() + 3600);
    await lab.addUsage(orgId, 3);
    expect(await lab.exportOnce()).toMatchObject({ exported: 1, postponed: 8 });
    await lab.setClock(lab.nowSeconds() + 35 * day);
    expect(await lab.exportOnce()).toMatchObject({ escalated: 8 });
    expect(await lab.exportOnce()).toMatchObject({ escalated: 0, postponed: 0 });
  });
});
