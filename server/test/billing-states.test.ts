import { describe, expect, onTestFinished } from "vitest";
import { setStatus, suspendLapsedGraces } from "../src/billing/changeStatus.ts";
import { billingChores } from "../src/billing/worker.ts";
import { createClockCheck } from "../src/postgres/clock.ts";
import { createLog } from "../src/telemetry/log.ts";
import { periodBounds, readLedgerMonth } from "../src/billing/ledger.ts";
import { reconcile } from "../src/billing/reconciliation.ts";
import { citusUrl } from "./support/citus.ts";
import { labTest } from "./support/billing/labTest.ts";
import { countLockWaits, holdRows } from "./support/heldLocks.ts";
import { until } from "./support/until.ts";

/* The billing state follows the processor's data, in whatever order its notices arrive. */

const day = 86_400;
const start = Date.UTC(2026, 9, 10, 12) / 1000;
const october = 202610;

const it = labTest(start);

describe("a failed invoice", () => {
  it("gives three days of grace, then suspends by the clock; payment activates again", async ({
    lab,
    pool,
  }) => {
    const { orgId, customer } = await lab.unpaid(1500);
    expect(await lab.statusOf(orgId)).toBe("grace");
    const endsAt = periodBounds(october).endSeconds + 3600 + 3 * day;
    expect(await lab.graceEnd(orgId)).toBe(endsAt);
    // Another failed payment attempt does not start a new grace period.
    const { invoices } = await lab.account.state();
    await lab.setClock(lab.nowSeconds() + day);
    await lab.account.control({ action: "collect", invoice: invoices[0]!.id });
    await lab.settleNotices();
    expect(await lab.graceEnd(orgId)).toBe(endsAt);
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
    expect(await lab.historyOf(orgId)).toEqual([
      "pending → active by stripe",
      "active → grace by stripe",
      "grace → suspended by grace ended",
      "suspended → active by stripe",
    ]);
    expect(await lab.auditedStates(orgId)).toEqual([
      expect.stringMatching(/^stripe evt_\w+: active$/),
      expect.stringMatching(/^stripe evt_\w+: grace$/),
      "billing: suspended",
      expect.stringMatching(/^stripe evt_\w+: active$/),
    ]);
  });

  it("that is paid within the grace period leaves only the record", async ({ lab }) => {
    const { orgId, customer } = await lab.unpaid(1);
    const { invoices } = await lab.account.state();
    await lab.account.control({ action: "card", customer, fails: false });
    await lab.account.control({ action: "collect", invoice: invoices[0]!.id });
    await lab.settleNotices();
    expect(await lab.statusOf(orgId)).toBe("active");
    expect(await lab.graceEnd(orgId)).toBeNull();
  });

  it("counts an ended grace period as suspended before that is stored", async ({ lab, pool }) => {
    const { orgId } = await lab.unpaid(1);
    await lab.setClock(lab.nowSeconds() + 4 * day);
    await setStatus(pool, {
      orgId,
      status: "active",
      cause: "operator ada",
      actor: { kind: "operator", name: "ada" },
      nowSeconds: lab.nowSeconds(),
    });
    expect((await lab.historyOf(orgId)).slice(-2)).toEqual([
      "grace → suspended by grace ended",
      "suspended → active by operator ada",
    ]);
  });
});

describe("notices", () => {
  it("in any order, repeated and late lead to the processor's current state", async ({ lab }) => {
    const { orgId, customer } = await lab.unpaid(10);
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
    // The pause after a failure must end first.
    expect(await lab.processOnce()).toEqual({ processed: 0, failed: 0 });
    await lab.setClock(lab.nowSeconds() + 5);
    await lab.processOnce();
    expect(await lab.statusOf(orgId)).toBe("active");
  });

  it("of one customer are processed while those of another customer wait", async ({ lab, pool, skip }) => {
    skip(citusUrl !== undefined, "Citus serializes the writes to a reference table");
    const slow = await lab.createOrganization();
    await lab.subscribe(slow);
    await lab.account.control({ action: "deliver" });
    await lab.setClock(lab.nowSeconds() + 1);
    const other = await lab.createOrganization();
    await lab.subscribe(other);
    await lab.account.control({ action: "deliver" });
    const letGo = await holdRows(pool, "organizations", { id: slow });
    onTestFinished(letGo);
    const processing = lab.processOnce();
    await until(async () => (await lab.statusOf(other)) === "active");
    await letGo();
    expect(await processing).toMatchObject({ failed: 0 });
    expect(await lab.statusOf(slow)).toBe("active");
  });

  it("about unknown customers change nothing", async ({ lab }) => {
    const { orgId } = await lab.subscribed();
    const object = { id: "sub_x", object: "subscription", customer: "cus_unknown", status: "canceled" };
    await lab.account.control({ action: "emit", type: "customer.subscription.deleted", object });
    await lab.settleNotices();
    expect(await lab.statusOf(orgId)).toBe("active");
  });

  it("cannot overwrite newer data of the processor with older data", async ({ lab }) => {
    const { orgId, subscription } = await lab.subscribed();
    await lab.account.control({ action: "cancel", subscription });
    await lab.account.control({ action: "deliver" });
    // Several runs process the same notices simultaneously.
    await Promise.all([lab.processOnce(), lab.processOnce(), lab.processOnce()]);
    expect(await lab.statusOf(orgId)).toBe("suspended");
    expect(await lab.historyOf(orgId)).toEqual([
      "pending → active by stripe",
      "active → suspended by stripe",
    ]);
  });
});

describe("the end of a subscription", () => {
  it("suspends; a new subscription activates again", async ({ lab }) => {
    const { orgId, subscription } = await lab.subscribed();
    await lab.account.control({ action: "cancel", subscription });
    await lab.settleNotices();
    expect(await lab.statusOf(orgId)).toBe("suspended");
    await lab.setClock(lab.nowSeconds() + 60);
    await lab.subscribe(orgId);
    await lab.settleNotices();
    expect(await lab.statusOf(orgId)).toBe("active");
  });

  it("suspends when its customer is deleted too, although the payment page is opened before the notice arrives", async ({
    lab,
  }) => {
    const { orgId, customer } = await lab.subscribed();
    await lab.account.control({ action: "delete customer", customer });
    await lab.checkOut(orgId);
    await lab.settleNotices();
    expect(await lab.statusOf(orgId)).toBe("suspended");
    await lab.subscribe(orgId);
    await lab.settleNotices();
    expect(await lab.statusOf(orgId)).toBe("active");
    expect(await lab.historyOf(orgId)).toEqual([
      "pending → active by stripe",
      "active → suspended by stripe: the customer was deleted",
      "suspended → active by stripe",
    ]);
  });

  it("suspends when its customer is deleted while older data of the customer is applied", async ({
    lab,
    home,
    skip,
  }) => {
    skip(citusUrl !== undefined, "the coordinator does not see lock waits of workers");
    const { orgId, customer, subscription } = await lab.subscribed();
    const object = { id: subscription, object: "subscription", customer };
    await lab.account.control({ action: "emit", type: "customer.subscription.updated", object });
    await lab.account.control({ action: "deliver" });
    // The notice's reading, made before the deletion, and then the payment page's wait for the organization's row.
    const letGo = await holdRows(home, "organizations", { id: orgId });
    onTestFinished(letGo);
    const processing = lab.processOnce();
    await until(async () => (await countLockWaits(home)) === 1);
    await lab.account.control({ action: "delete customer", customer });
    const opening = lab.checkOut(orgId);
    await until(async () => (await countLockWaits(home)) === 2);
    await letGo();
    await Promise.all([processing, opening]);
    await lab.settleNotices();
    expect(await lab.statusOf(orgId)).toBe("suspended");
  });

  it("by a failed payment keeps the three days of grace", async ({ lab }) => {
    const { orgId, customer, subscription } = await lab.unpaid(1);
    await lab.account.control({ action: "mark unpaid", subscription });
    const object = { id: subscription, object: "subscription", customer };
    await lab.account.control({ action: "emit", type: "customer.subscription.updated", object });
    await lab.settleNotices();
    expect(await lab.statusOf(orgId)).toBe("grace");
  });
});

describe("an operator's decision", () => {
  it("holds until the processor reports a change", async ({ lab, pool }) => {
    const { orgId, customer } = await lab.subscribed();
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

  it("to exempt is never changed by the processor, and the items accepted in the exempt state are never charged", async ({
    lab,
    pool,
  }) => {
    const { orgId, customer } = await lab.subscribed(100);
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
      outcome: "compared",
      comparison: {
        status: "reconciled",
        accepted_events: 5111,
        processor_events: 111,
        estimated_cents: 10,
      },
    });
  });
});

it("a process whose clock is days ahead does not export or invoice", async ({ lab, cells, home }) => {
  await lab.setClock(Math.floor(Date.now() / 1000));
  const { orgId, customer, subscription } = await lab.subscribed();
  await lab.addUsage(orgId, 5);
  await lab.account.control({ action: "mark unpaid", subscription });
  const type = "customer.subscription.updated";
  const object = { id: subscription, object: "subscription", customer };
  await lab.account.control({ action: "emit", type, object });
  await lab.account.control({ action: "deliver" });
  const log = createLog("silent");
  const runChores = async (skewMs: number): Promise<void> => {
    const nowMs = (): number => Date.now() + skewMs;
    const clock = createClockCheck({ pool: home, nowMs, log });
    const config = { billing: lab.config, meterExportSeconds: 1 };
    const chores = billingChores(
      { pool: home, cells, log, nowMs, clock, config },
      new AbortController().signal,
    );
    for (const { runOnce } of chores) await runOnce(new AbortController().signal);
  };
  await runChores(20 * day * 1000);
  expect(await lab.statusOf(orgId)).toBe("active");
  await runChores(0);
  expect((await lab.account.state()).meterEvents.map(({ value }) => value)).toEqual([5]);
  expect(await lab.statusOf(orgId)).toBe("grace");
});
