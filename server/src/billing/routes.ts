import type { Stripe } from "stripe";
import { type Static, Type } from "typebox";
import { type Config, publicUrlOf } from "../config/config.ts";
import { anyone, users, usersAndKeys } from "../http/contract/access.ts";
import { ApiError, found, notFound, orRefused } from "../http/contract/errors.ts";
import { routesOf, type RouteRecord } from "../http/contract/route.ts";
import { readKeys } from "../http/contract/scope.ts";
import { fieldsOf, nullable, NullableString, oneOf, Timestamp } from "../http/contract/schemas.ts";
import { readOrganization } from "../accounts/organizationStore.ts";
import { billingStatuses } from "../postgres/tables.ts";
import { findAccount } from "./accountStore.ts";
import { isMissing, openCheckout } from "./checkout.ts";
import {
  billableItems,
  centsOf,
  pendingItems,
  periodBounds,
  periodOf,
  price,
  readLedgerMonth,
  unitsOf,
} from "./ledger.ts";
import { askProcessor, createProcessor, type Processor, type ProcessorFailure } from "./processor.ts";
import { receiveEvent } from "./receiveEvent.ts";
import { reconcile, Reconciliation } from "./reconciliation.ts";
import examples from "./examples.json" with { type: "json" };
import type { Parts } from "../items/parts.ts";

const route = routesOf<RouteDeps>("Billing");

/** Dependencies of the billing routes. */
export interface BillingDeps extends Pick<Parts, "pool" | "log" | "nowMs"> {
  config: Pick<Config, "billing" | "publicUrl" | "host" | "port">;
  /** Called when a notice of the processor is stored and waits to be processed. */
  onBillingEvent: () => void;
}

/** Dependencies of a single route: also the payment processor, undefined without live billing. */
interface RouteDeps extends BillingDeps {
  processor: Processor | undefined;
}

/** Usage, billing state, and the payment processor's pages and notices; the last two answer 503 without live billing. */
export function billingRoutes(deps: BillingDeps): RouteRecord[] {
  const { billing } = deps.config;
  const processor =
    billing.kind === "stripe" ? { stripe: createProcessor(billing), config: billing } : undefined;
  const routes = [
    statusRoute,
    checkoutRoute,
    portalRoute,
    invoicesRoute,
    reconciliationRoute,
    usageRoute,
    webhookRoute,
  ];
  return routes.map((make) => make({ ...deps, processor }));
}

const Url = Type.Object({ url: Type.String() });

const processorErrors = {
  502: "The payment processor refused the request",
  503: "Live billing is disabled, or the payment processor does not answer",
};

const reconciliationRoute = route("reconcile", "GET /api/v1/billing/reconciliation", {
  access: users("viewer"),
  summary: "Compare the local ledger with the payment processor",
  description:
    "The status is `reconciled` only if no item waits for export and the total of the processor is equal to the local total. `pending` does not mean lost usage: the processor counts with a delay.",
  response: { 200: Reconciliation },
  errors: { 502: processorErrors[502] },
  async handle({ caller }, deps) {
    const reconciled = await reconcile(deps, caller.orgId);
    return orRefused(reconciled, "compared", { not_found: notFound, ...failures }).comparison;
  },
});

const statusRoute = route("readBilling", "GET /api/v1/billing", {
  access: users("viewer"),
  summary: "Read the billing state and the price",
  response: {
    200: Type.Object(
      {
        status: oneOf(billingStatuses),
        billing_enabled: Type.Boolean(),
        grace_ends_at: nullable(Timestamp),
        has_payment_method: Type.Boolean(),
        currency: Type.String(),
        price_cents: Type.Integer({ description: "Price of a unit; a started unit costs the full price" }),
        unit_size: Type.Integer({ description: "Number of items in a unit" }),
      },
      { title: "Billing" },
    ),
  },
  async handle({ caller }, deps) {
    const { billing_status, billing_grace_ends_at } = found(await readOrganization(deps.pool, caller.orgId));
    const account = await findAccount(deps.pool, "org_id", caller.orgId);
    return {
      status: billing_status,
      billing_enabled: deps.config.billing.kind === "stripe",
      grace_ends_at: billing_grace_ends_at,
      has_payment_method: account?.has_payment_method ?? false,
      currency: price.currency,
      price_cents: price.priceCents,
      unit_size: price.unitSize,
    };
  },
});

const checkoutRoute = route("openCheckout", "POST /api/v1/billing/checkout", {
  access: users("admin"),
  audit: { none: "the payment processor reports the result, which is recorded as billing.state_changed" },
  summary: "Get the URL of a hosted page to set up payment",
  description:
    "The request body is ignored: the service sets the price and the return URLs. The status is 503 while live billing is disabled, and 409 if the organization is exempt from billing or already has a subscription.",
  response: { 200: Url },
  errors: {
    409: "The organization is exempt from billing, or already has a subscription",
    ...processorErrors,
  },
  async handle({ caller, request }, deps) {
    const publicUrl = publicUrlOf(deps.config, request.socket);
    const checkout = { ...deps, ...require503(deps.processor), publicUrl };
    const asked = await askProcessor(() => openCheckout(checkout, caller.orgId));
    const { url } = orRefused(orRefused(asked, "answered", failures).answer, "open", checkoutRefusals);
    return { url };
  },
});

const checkoutRefusals = {
  not_found: notFound,
  exempt: () => new ApiError(409, "this organization is exempt from billing", "workspace_exempt"),
  subscribed: () =>
    new ApiError(
      409,
      "this organization already has a subscription: change the payment method in the billing portal",
      "subscription_exists",
    ),
  busy: () =>
    new ApiError(503, "another request is changing the payment page: try again", {
      retryAfterSeconds: 1,
    }),
};

const portalRoute = route("openPortal", "GET /api/v1/billing/portal", {
  access: users("admin"),
  summary: "Get a short-lived URL of the payment processor's customer portal",
  description:
    "The status is 503 while live billing is disabled, and 409 if payment is not set up yet, or the customer was deleted at the payment processor.",
  response: { 200: Url },
  errors: {
    409: "Payment is not set up yet, or the customer was deleted at the payment processor",
    ...processorErrors,
  },
  async handle({ caller, request }, deps) {
    const { stripe } = require503(deps.processor);
    const account = await findAccount(deps.pool, "org_id", caller.orgId);
    const customer = account?.customer_id ?? null;
    if (customer === null) throw paymentNotSetUp();
    const page = { customer, return_url: `${publicUrlOf(deps.config, request.socket)}/billing` };
    const asked = await askProcessor(() => stripe.billingPortal.sessions.create(page));
    if (asked.outcome === "refused" && isMissing(asked.cause, "customer")) throw paymentNotSetUp();
    return { url: orRefused(asked, "answered", failures).answer.url };
  },
});

function paymentNotSetUp(): ApiError {
  return new ApiError(409, "payment is not set up yet: use the checkout first");
}

const mostInvoices = 12;

/** An invoice in the interface; amounts are in the currency's smallest unit. */
const Invoice = Type.Object(
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
  const invoices = await stripe.invoices.list({ customer: customerId, limit: mostInvoices });
  return invoices.data
    .slice(0, mostInvoices)
    .map((invoice) => fieldsOf(Invoice, { ...invoice, date: invoice.created }));
}

const invoicesRoute = route("listInvoices", "GET /api/v1/billing/invoices", {
  access: users("admin"),
  summary: "List up to 12 recent invoices",
  response: { 200: Type.Object({ invoices: Type.Array(Invoice), billing_enabled: Type.Boolean() }) },
  errors: { 502: processorErrors[502] },
  async handle({ caller }, deps) {
    const { processor } = deps;
    if (processor === undefined) return { invoices: [], billing_enabled: false };
    const account = await findAccount(deps.pool, "org_id", caller.orgId);
    const customer = account?.customer_id ?? null;
    if (customer === null) return { invoices: [], billing_enabled: true };
    const asked = await askProcessor(() => listInvoices(processor.stripe, customer));
    if (asked.outcome === "refused" && isMissing(asked.cause, "customer"))
      return { invoices: [], billing_enabled: true };
    return { invoices: orRefused(asked, "answered", failures).answer, billing_enabled: true };
  },
});

const Usage = Type.Object(
  {
    period_start: Timestamp,
    period_end: Timestamp,
    accepted_events: Type.Integer({ description: "Items newly accepted in the period" }),
    estimated_units: Type.Integer({
      description: "Units of 1,000 items, rounded up; 0 for an exempt organization",
    }),
    estimated_cents: Type.Integer({ description: "US cents; 0 for an exempt organization" }),
    pending_meter_events: Type.Integer({
      description: "Items that wait for export to the payment processor",
    }),
  },
  { title: "Usage" },
);

const usageRoute = route("readUsage", "GET /api/v1/usage", {
  access: usersAndKeys("viewer", readKeys),
  summary: "Read the usage of the current month",
  response: { 200: Type.Object({ usage: Usage }) },
  examples: examples.readUsage,
  async handle({ caller }, deps) {
    const period = periodOf(deps.nowMs());
    const month = found(await readLedgerMonth(deps.pool, caller.orgId, period));
    const { startSeconds, endSeconds } = periodBounds(period);
    const billable = billableItems(month);
    return {
      usage: {
        period_start: startSeconds,
        period_end: endSeconds,
        accepted_events: month.accepted,
        estimated_units: unitsOf(billable),
        estimated_cents: centsOf(billable),
        pending_meter_events: pendingItems(month),
      },
    };
  },
});

const webhookRoute = route("receiveBillingEvent", "POST /api/v1/billing/webhook", {
  access: anyone,
  audit: { none: "a change of the billing state is recorded as billing.state_changed" },
  summary: "Receive a webhook event of the payment processor",
  description:
    "The service verifies the `Stripe-Signature` header; the status is 400 if the signature is missing or wrong. The status is 503 while live billing is disabled, so that the processor retries later.",
  response: { 200: Type.Object({ received: Type.Literal(true) }) },
  rawBody: "json",
  async handle({ request }, deps) {
    const receive = { ...deps, ...require503(deps.processor) };
    const signature = request.headers["stripe-signature"];
    const { waits } = orRefused(await receiveEvent(receive, request.body, signature), "received", {
      invalid: ({ message, cause }) => new ApiError(400, message, { cause }),
      ...failures,
    });
    if (waits) deps.onBillingEvent();
    return { received: true };
  },
});

function require503(processor: Processor | undefined): Processor {
  if (processor === undefined) throw new ApiError(503, "live billing is disabled", "billing_disabled");
  return processor;
}

/** Answers for failed requests to the processor: 503 when it does not answer, 502 when it refused. */
const failures = {
  unavailable: ({ cause }: ProcessorFailure) =>
    new ApiError(503, "the payment processor does not answer: try again", { cause, retryAfterSeconds: 5 }),
  refused: ({ cause }: ProcessorFailure) =>
    new ApiError(
      502,
      "the payment processor refused the request: the operator must check the settings of the processor",
      { cause },
    ),
};
