import type pg from "pg";
import { expect } from "vitest";
import { foldUsage } from "../src/billing/foldUsage.ts";
import { periodBounds, periodOf } from "../src/billing/ledger.ts";
import { Crash, createCrashingPool } from "./support/billing/crashingPool.ts";
import { createLab, type Lab } from "./support/billing/lab.ts";
import { createRandom, type Random } from "./support/billing/random.ts";
import { createTestDatabase } from "./support/database.ts";
import type { StandIn } from "./support/stripeStandIn/client.ts";
import type { FaultKind } from "./support/stripeStandIn/faults.ts";
import { file, databaseTest, testPool } from "./support/fixtures.ts";

/*
 * The final invoice equals the ledger over months of use in which the processor is down, slow, overloaded or loses
 * answers, webhook notices arrive twice, late and out of order, and the service is killed between any two
 * statements.
 */

/** Number of random runs; use `BILLING_RUNS=60` or more after a change of billing. */
const runs = Number(process.env["BILLING_RUNS"] ?? 12);
const lanes = 4;
/** Duration of a hanging request in real time, milliseconds. */
const hangMs = 150;

const it = databaseTest().extend("pools", file, async ({}, { onCleanup }) => {
  const databases = await Promise.all(Array.from({ length: lanes }, () => createTestDatabase()));
  const pools = databases.map((database) => testPool(database, 4));
  onCleanup(async () => {
    await Promise.all(pools.map((pool) => pool.end()));
    await Promise.all(databases.map((database) => database.drop()));
  });
  return pools;
});

it(`the final invoice equals the ledger over ${runs} seeded runs of faults and crashes`, async ({
  pools,
  standIn,
}) => {
  const seeds = Array.from({ length: runs }, (_, index) => index + 1);
  const lived = await Promise.all(pools.map((pool) => runLane(pool, standIn, seeds)));
  expect(lived.reduce((sum, count) => sum + count, 0)).toBe(runs);
}, 240_000);

/** Runs seeds until none is left. @returns the number of seeds run. */
async function runLane(pool: pg.Pool, standIn: StandIn, seeds: number[]): Promise<number> {
  let lived = 0;
  for (let seed = seeds.shift(); seed !== undefined; seed = seeds.shift()) {
    const random = createRandom(seed);
    const start = Date.UTC(2026, 8, random.integer(1, 27), random.integer(0, 23)) / 1000;
    const lab = await createLab(pool, standIn.account(`seed_${seed}`), start, { timeoutMs: hangMs });
    try {
      await liveThrough(lab, random, `seed ${seed}`);
      lived++;
    } finally {
      await lab.close();
    }
  }
  return lived;
}

/** Items by organization and month, as counted by the test itself. */
type Expected = Map<string, Map<number, number>>;

async function liveThrough(lab: Lab, random: Random, name: string): Promise<void> {
  const expected: Expected = new Map();
  for (let count = random.integer(1, 3); count > 0; count--) {
    const orgId = await lab.createOrganization();
    expected.set(orgId, new Map());
    await lab.subscribe(orgId);
  }
  await heal(lab);
  const firstPeriod = periodOf(lab.nowSeconds() * 1000);
  for (let step = random.integer(10, 22); step > 0; step--) await takeStep(lab, random, expected);
  // Passes the end of the month with whatever faults are active then.
  await use(lab, random, expected);
  await lab.setClock(periodBounds(firstPeriod).endSeconds + random.integer(0, 5 * 3600));
  // A draft invoice whose notice is not accepted becomes final after 72 hours in any case.
  const untilSeconds = periodBounds(firstPeriod).endSeconds + 60 * 3600;
  for (let step = random.integer(2, 8); step > 0; step--) await takeStep(lab, random, expected, untilSeconds);
  await heal(lab);
  await compare(lab, expected, name);
}

async function takeStep(
  lab: Lab,
  random: Random,
  expected: Expected,
  untilSeconds = Number.POSITIVE_INFINITY,
): Promise<void> {
  const action = random.integer(0, 9);
  if (action <= 2) await use(lab, random, expected);
  else if (action <= 5) await exportWithTrouble(lab, random);
  else if (action === 6) await lab.setClock(Math.min(lab.nowSeconds() + pickDelay(random), untilSeconds));
  else if (action === 7) await breakSomething(lab, random);
  else if (action === 8) await foldUsage(lab.pool);
  else await deliverWithTrouble(lab, random);
}

async function use(lab: Lab, random: Random, expected: Expected): Promise<void> {
  const orgId = random.pick([...expected.keys()]);
  const items = random.integer(1, 2500);
  await lab.addUsage(orgId, items);
  const period = periodOf(lab.nowSeconds() * 1000);
  const months = expected.get(orgId)!;
  months.set(period, (months.get(period) ?? 0) + items);
}

function pickDelay(random: Random): number {
  return random.pick([5, 60, 900, 7200, 26 * 3600, 3 * 86_400]);
}

const faultKinds: FaultKind[] = ["reset", "lose", "error_before", "error_after", "limit", "slow"];
const calls = ["meter_events", "meter_events", "event_summaries", "/v1/invoices", "subscriptions", "/v1/"];

async function breakSomething(lab: Lab, random: Random): Promise<void> {
  const faults = Array.from({ length: random.integer(1, 2) }, () => {
    if (random.chance(0.1))
      return {
        match: random.pick(calls),
        kind: random.pick(["hang_before", "hang_after"] as const),
        times: 1,
      };
    return {
      match: random.pick(calls),
      kind: random.pick(faultKinds),
      times: random.pick([1, 2, 2, 6, 1000]),
    };
  });
  await lab.account.control({ action: "faults", faults });
}

async function exportWithTrouble(lab: Lab, random: Random): Promise<void> {
  if (random.chance(0.5)) {
    await lab.exportOnce().catch(() => undefined);
    return;
  }
  await surviveCrash(lab.exportOnce(createCrashingPool(lab.pool, random.integer(0, 14))));
}

async function deliverWithTrouble(lab: Lab, random: Random): Promise<void> {
  const { outbox } = await lab.account.state();
  const positions = [...outbox.keys()].filter(() => random.chance(0.7));
  const twice = positions.filter(() => random.chance(0.3));
  await lab.account.control({ action: "deliver", order: random.shuffle([...positions, ...twice]) });
  const pool = random.chance(0.5) ? createCrashingPool(lab.pool, random.integer(0, 8)) : lab.pool;
  await surviveCrash(lab.processOnce(pool));
}

async function surviveCrash(work: Promise<unknown>): Promise<void> {
  try {
    await work;
  } catch (error) {
    // Faults may fail requests of the current step; the run continues with the next step.
    if (!(error instanceof Crash) && !(error instanceof Error && "statusCode" in error)) throw error;
  }
}

/** Ends all faults and lets simulated time pass until nothing waits; this takes hours and at most days. */
async function heal(lab: Lab): Promise<void> {
  await lab.account.control({ action: "faults", faults: [] });
  for (let round = 0; round < 60; round++) {
    await lab.settleNotices();
    await foldUsage(lab.pool);
    // On a busy machine a request may time out without a fault.
    await surviveCrash(lab.exportOnce());
    const { invoices, outbox } = await lab.account.state();
    const isQuiet =
      outbox.every(({ delivered }) => delivered) && invoices.every(({ status }) => status === "paid");
    if (isQuiet && (await lab.countWaiting()) === 0) return;
    await lab.setClock(lab.nowSeconds() + 700);
  }
  throw new Error("something waits forever");
}

async function compare(lab: Lab, expected: Expected, name: string): Promise<void> {
  const { customers, invoices, meterEvents } = await lab.account.state();
  const open = periodOf(lab.nowSeconds() * 1000);
  for (const [orgId, months] of expected) {
    const ofOrganization = customers.filter(({ metadata }) => metadata["org_id"] === orgId);
    const customer = ofOrganization.find(({ hasPaymentMethod }) => hasPaymentMethod)!;
    for (const [period, items] of months) {
      const { startSeconds, endSeconds } = periodBounds(period);
      const metered = meterEvents
        .filter(
          (event) =>
            event.customer === customer.id && event.timestamp >= startSeconds && event.timestamp < endSeconds,
        )
        .reduce((sum, { value }) => sum + value, 0);
      expect({ name, period, metered }).toEqual({ name, period, metered: items });
      if (period === open) continue;
      const bills = invoices.filter(
        (invoice) => invoice.customer === customer.id && invoice.periodEnd === endSeconds,
      );
      const invoiced = bills.map(({ subtotal }) => subtotal);
      expect({ name, period, invoiced }).toEqual({ name, period, invoiced: [Math.ceil(items / 1000) * 10] });
    }
  }
}
