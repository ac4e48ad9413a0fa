import type { Stripe } from "stripe";
import { type Static, Type } from "typebox";
import { fieldsOf, NullableString, Timestamp } from "../http/contract/schemas.ts";

/** The most invoices that are shown. */
const limit = 12;

/** An invoice in the interface; amounts are in the currency's smallest unit. */
export const Invoice = Type.Object(
  {
    number: NullableString,
    date: Timestamp,
    status: NullableString,
    amount_due: Type.Integer({ description: "In the currency's smallest unit" }),
    amount_paid: Type.Integer({ description: "In the currency's smallest unit" }),
    currency: Type.String(),
    hosted_invoice_url: NullableString,
  },
  { title: "Invoice" },
);

/** Lists the customer's most recent invoices, newest first. @throws the processor's errors. */
export async function listInvoices(stripe: Stripe, customerId: string): Promise<Static<typeof Invoice>[]> {
  const invoices = await stripe.invoices.list({ customer: customerId, limit });
  return invoices.data
    .slice(0, limit)
    .map((invoice) => fieldsOf(Invoice, { ...invoice, date: invoice.created }));
}
