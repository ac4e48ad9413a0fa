import type { Stripe } from "stripe";
import { type Static, Type } from "typebox";
import type pg from "pg";
import { nullable, nullableInteger, NullableString, oneOf, Timestamp } from "../http/contract/schemas.ts";
import { isMissing } from "./checkout.ts";
import {
  billableItems,
  centsOf,
  pendingItems,
  periodBounds,
  periodOf,
  price,
  readLedgerMonth,
} from "./ledger.ts";
import { askProcessor, type Processor, type ProcessorFailure, readMeterTotal } from "./processor.ts";
import type { Parts } from "../items/parts.ts";

const InvoiceEvidence = Type.Object({
  number: NullableString,
  status: NullableString,
  period_start: Timestamp,
  period_end: Timestamp,
  currency: Type.String(),
  subtotal_cents: Type.Integer(),
  local_estimate_cents: Type.Integer({
    description: "Estimated cost in the local ledger for the month of the invoice",
  }),
  difference_cents: nullableInteger(
    "Invoice minus local estimate; null if the invoice is in another currency than the price",
  ),
});

export const Reconciliation = Type.Object(
  {
    status: oneOf(["disabled", "pending", "reconciled"]),
    billing_enabled: Type.Boolean(),
    period_start: Timestamp,
    period_end: Timestamp,
    accepted_events: Type.Integer({ description: "Items of the month in the local ledger" }),
    pending_meter_events: Type.Integer({
      description: "Items in the local ledger that the processor has not confirmed",
    }),
    estimated_cents: Type.Integer(),
    processor_events: nullableInteger("Total of the month at the processor's meter"),
    difference_events: nullableInteger("Total of the processor minus the billable items in the local ledger"),
    latest_invoice: nullable(InvoiceEvidence),
  },
  { title: "Reconciliation" },
);

export interface ReconciliationDeps extends Pick<Parts, "pool" | "nowMs"> {
  /** Undefined while live billing is disabled. */
  processor: Processor | undefined;
}

export type ReconcileOutcome =
  | { outcome: "compared"; comparison: Static<typeof Reconciliation> }
  /** There is no such organization. */
  | { outcome: "not_found" }
  | ProcessorFailure;

/**
 * Compares the current month's ledger with the processor's meter, and the latest invoice with the ledger of the invoice's
 * month. While items wait for export, or the meter has not yet counted them, the status is `pending`; no usage is lost.
 */
export async function reconcile(deps: ReconciliationDeps, orgId: string): Promise<ReconcileOutcome> {
  const nowMs = deps.nowMs();
  const period = periodOf(nowMs);
  const { startSeconds, endSeconds } = periodBounds(period);
  const month = await readLedgerMonth(deps.pool, orgId, period);
  if (month === undefined) return { outcome: "not_found" };
  const billable = billableItems(month);
  const pending = pendingItems(month);
  const local = {
    billing_enabled: deps.processor !== undefined,
    period_start: startSeconds,
    period_end: endSeconds,
    accepted_events: month.accepted,
    pending_meter_events: pending,
    estimated_cents: centsOf(billable),
  };
  const nothing = { processor_events: null, difference_events: null, latest_invoice: null };
  const { processor } = deps;
  if (processor === undefined) {
    return { outcome: "compared", comparison: { status: "disabled", ...local, ...nothing } };
  }
  const { customerId } = month;
  // Without a customer the processor counts nothing, which is right if the ledger has nothing to export.
  const status = pending === 0 ? ("reconciled" as const) : ("pending" as const);
  const withoutCustomer = { outcome: "compared", comparison: { status, ...local, ...nothing } } as const;
  if (customerId === null) return withoutCustomer;
  const asked = await askProcessor(() =>
    Promise.all([
      readMeterTotal(processor, customerId, period, Math.floor(nowMs / 1000)),
      findLatestInvoice(processor.stripe, customerId),
    ]),
  );
  if (asked.outcome === "refused" && isMissing(asked.cause, "customer")) return withoutCustomer;
  if (asked.outcome !== "answered") return asked;
  const [counted, invoice] = asked.answer;
  const difference = counted - (month.billing_status === "exempt" ? month.exported : billable);
  const comparison = {
    status: difference === 0 ? status : ("pending" as const),
    ...local,
    processor_events: counted,
    difference_events: difference,
    latest_invoice: invoice === undefined ? null : await compareInvoice(deps.pool, orgId, invoice),
  };
  return { outcome: "compared", comparison };
}

/** Finds the newest invoice for a month's usage. Skips void invoices, and those made by hand or at a subscription's start. */
async function findLatestInvoice(stripe: Stripe, customerId: string): Promise<Stripe.Invoice | undefined> {
  const invoices = await stripe.invoices.list({ customer: customerId, limit: 12 });
  return invoices.data.find(
    ({ billing_reason: reason, status }) => reason === "subscription_cycle" && status !== "void",
  );
}

async function compareInvoice(
  pool: pg.Pool,
  orgId: string,
  invoice: Stripe.Invoice,
): Promise<Static<typeof InvoiceEvidence> | null> {
  const month = await readLedgerMonth(pool, orgId, periodOf((invoice.period_end - 1) * 1000));
  // The organization has been deleted since.
  if (month === undefined) return null;
  const estimate = centsOf(billableItems(month));
  return {
    number: invoice.number,
    status: invoice.status,
    period_start: invoice.period_start,
    period_end: invoice.period_end,
    currency: invoice.currency,
    subtotal_cents: invoice.subtotal,
    local_estimate_cents: estimate,
    difference_cents: invoice.currency === price.currency ? invoice.subtotal - estimate : null,
  };
}
