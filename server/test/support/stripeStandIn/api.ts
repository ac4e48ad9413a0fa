import { objectOf, type FormValues, textOf } from "./formBody.ts";
import { createMeterEvent, summarizeMeter } from "./meter.ts";
import { showCustomer, showInvoice, showList, showSession, showSubscription } from "./shapes.ts";
import {
  type Customer,
  livingCustomer,
  mustFind,
  newId,
  nowOf,
  Refusal,
  type Session,
  type World,
} from "./world.ts";

type Handler = (world: World, params: FormValues, id: string) => object | Promise<object>;

/** The part of the processor's interface that billing needs; `:id` is one path segment. */
const routes: [method: string, path: RegExp, handle: Handler][] = [
  ["POST", /^\/v1\/customers$/, createCustomer],
  [
    "GET",
    /^\/v1\/customers\/(\w+)$/,
    (world, _, id) => showCustomer(mustFind(world.customers, id, "customer")),
  ],
  ["GET", /^\/v1\/subscriptions$/, listSubscriptions],
  ["POST", /^\/v1\/checkout\/sessions$/, createSession],
  [
    "GET",
    /^\/v1\/checkout\/sessions\/(\w+)$/,
    (world, _, id) => showSession(mustFind(world.sessions, id, "checkout.session")),
  ],
  ["POST", /^\/v1\/billing_portal\/sessions$/, createPortalSession],
  ["POST", /^\/v1\/billing\/meter_events$/, createMeterEvent],
  ["GET", /^\/v1\/billing\/meters\/(\w+)\/event_summaries$/, summarizeMeter],
  ["GET", /^\/v1\/invoices$/, listInvoices],
  ["GET", /^\/v1\/invoices\/(\w+)$/, (world, _, id) => showInvoice(mustFind(world.invoices, id, "invoice"))],
  ["POST", /^\/v1\/invoices\/(\w+)$/, updateInvoice],
];

/** Answers a request. @throws {Refusal} for invalid requests, and with 404 for unknown things. */
export async function answer(
  world: World,
  method: string,
  path: string,
  params: FormValues,
): Promise<object> {
  for (const [routeMethod, pattern, handle] of routes) {
    const match = routeMethod === method ? pattern.exec(path) : null;
    if (match !== null) return handle(world, params, match[1] ?? "");
  }
  throw new Refusal(404, `Unrecognized request URL (${method}: ${path}).`, { type: "invalid_request_error" });
}

function createCustomer(world: World, params: FormValues): object {
  const customer: Customer = {
    id: newId("cus"),
    created: nowOf(world),
    name: textOf(params, "name") ?? null,
    email: textOf(params, "email") ?? null,
    metadata: objectOf(params, "metadata"),
    deleted: false,
    hasPaymentMethod: false,
    cardFails: false,
  };
  world.customers.set(customer.id, customer);
  return showCustomer(customer);
}

function listSubscriptions(world: World, params: FormValues): object {
  const customer = livingCustomer(world, params);
  const status = textOf(params, "status");
  const found = [...world.subscriptions.values()].filter(
    (subscription) =>
      subscription.customer === customer.id &&
      (status === "all" ||
        (status === undefined ? subscription.status !== "canceled" : subscription.status === status)),
  );
  return showList("/v1/subscriptions", found.reverse().map(showSubscription), limitOf(params));
}

function createSession(world: World, params: FormValues): object {
  if (textOf(params, "mode") !== "subscription") {
    throw new Refusal(400, "mode must be subscription", { type: "invalid_request_error", param: "mode" });
  }
  const item = objectOf(objectOf(params, "line_items"), "0");
  const priceId = textOf(item, "price");
  if (priceId === undefined || item["quantity"] !== undefined) {
    throw new Refusal(400, "Quantity should not be specified where usage_type is `metered`.", {
      type: "invalid_request_error",
      param: "line_items",
    });
  }
  const customer = livingCustomer(world, params);
  const session: Session = {
    id: newId("cs_test"),
    created: nowOf(world),
    expiresAt: nowOf(world) + 86_400,
    customer: customer.id,
    priceId,
    status: "open",
    params,
  };
  world.sessions.set(session.id, session);
  return showSession(session);
}

function createPortalSession(world: World, params: FormValues): object {
  const customer = livingCustomer(world, params);
  const id = newId("bps");
  return {
    id,
    object: "billing_portal.session",
    customer: customer.id,
    return_url: textOf(params, "return_url") ?? null,
    url: `https://portal.stand-in.test/${id}`,
  };
}

function listInvoices(world: World, params: FormValues): object {
  const customer = mustFind(world.customers, textOf(params, "customer"), "customer");
  const status = textOf(params, "status");
  const found = [...world.invoices.values()]
    .filter(
      (invoice) => invoice.customer === customer.id && (status === undefined || invoice.status === status),
    )
    .sort((a, b) => b.created - a.created);
  return showList("/v1/invoices", found.map(showInvoice), limitOf(params));
}

function updateInvoice(world: World, params: FormValues, id: string): object {
  const invoice = mustFind(world.invoices, id, "invoice");
  if (invoice.status !== "draft") {
    throw new Refusal(400, "This invoice is finalized and no longer editable.", {
      type: "invalid_request_error",
      code: "invoice_not_editable",
    });
  }
  const autoAdvance = textOf(params, "auto_advance");
  if (autoAdvance !== undefined) invoice.autoAdvance = autoAdvance === "true";
  return showInvoice(invoice);
}

function limitOf(params: FormValues): number {
  return Number(textOf(params, "limit") ?? 10);
}
