import { expect } from "vitest";
import { listInvoices } from "../src/billing/routes.ts";
import { labTest } from "./support/billing/labTest.ts";

const it = labTest(Date.UTC(2025, 0, 10) / 1000);

it("of invoices for fourteen months the last twelve are shown, newest first, with the contract's fields", async ({
  lab,
}) => {
  const { orgId, customer } = await lab.subscribed();
  for (let month = 1; month <= 14; month++) {
    await lab.addUsage(orgId, month * 1000);
    await lab.endMonth();
  }
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
