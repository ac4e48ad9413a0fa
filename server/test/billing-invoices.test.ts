import { expect } from "vitest";
import { listInvoices } from "../src/billing/routes.ts";
import { periodBounds, periodOf } from "../src/billing/ledger.ts";
import { createLab } from "./support/billing/lab.ts";
import { file, databaseTest } from "./support/fixtures.ts";

const it = databaseTest({ poolSize: 4 })
  .extend("lab", file, async ({ pool, standIn }, { onCleanup }) => {
    const lab = await createLab(pool, standIn.account("invoices"), Date.UTC(2025, 0, 10) / 1000);
    onCleanup(() => lab.close());
    return lab;
  })
  /** Ends the month and waits out the hour in which its invoice is a draft. */
  .extend("endMonth", file, ({ lab }) => async (): Promise<void> => {
    const { endSeconds } = periodBounds(periodOf(lab.nowSeconds() * 1000));
    for (const second of [0, 300, 3600, 3900]) {
      await lab.setClock(endSeconds + second);
      await lab.exportOnce();
      await lab.settleNotices();
    }
  });

it("of fourteen months' invoices the last twelve are shown, newest first, with the contract's fields", async ({
  lab,
  endMonth,
}) => {
  const orgId = await lab.createOrganization();
  await lab.subscribe(orgId);
  await lab.settleNotices();
  for (let month = 1; month <= 14; month++) {
    await lab.addUsage(orgId, month * 1000);
    await endMonth();
  }
  const { customer } = (await lab.account.state()).subscriptions[0]!;
  const invoices = await listInvoices(lab.stripe, customer);
  expect(invoices.map(({ amount_paid: paid }) => paid)).toEqual(
    Array.from({ length: 12 }, (_, index) => (14 - index) * 10),
  );
  const dates = invoices.map(({ date }) => date);
  expect(dates).toEqual(dates.toSorted((a, b) => b - a));
  for (const invoice of invoices) {
    expect(invoice).toEqual({
      number: expect.any(String),
      date: expect.any(Number),
      status: "paid",
      amount_due: invoice.amount_paid,
      amount_paid: expect.any(Number),
      currency: "usd",
      hosted_invoice_url: expect.stringMatching(/^https?:/),
    });
  }
});
