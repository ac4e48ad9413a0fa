import { showInvoice, showSubscription } from "./shapes.ts";
import { emit } from "./webhooks.ts";
import { type Invoice, newId, nowOf, type Session, type Subscription, type World } from "./world.ts";

/** How long a draft stays open for late usage, and how long it stays open while its notice is unanswered. */
const draftSeconds = 3_600;
const unansweredSeconds = 72 * 3_600;

/** Does everything that is due: month ends, finalizing drafts, collecting payments. */
export function runBilling(world: World): void {
  const now = nowOf(world);
  for (const session of world.sessions.values()) {
    if (session.status === "open" && session.expiresAt <= now) session.status = "expired";
  }
  for (const subscription of world.subscriptions.values()) {
    while (subscription.status !== "canceled" && subscription.periodEnd <= now)
      closePeriod(world, subscription);
  }
  for (const invoice of world.invoices.values()) {
    if (invoice.status === "draft" && isRipe(world, invoice, now)) finalize(world, invoice);
  }
}

/** The customer pays on the hosted page: a subscription begins, anchored to the first of the next month. */
export function completeSession(world: World, session: Session): Subscription {
  const now = nowOf(world);
  session.status = "complete";
  const customer = world.customers.get(session.customer)!;
  customer.hasPaymentMethod = true;
  const subscription: Subscription = {
    id: newId("sub"),
    created: now,
    customer: customer.id,
    priceId: session.priceId,
    status: "active",
    latestInvoice: null,
    periodStart: now,
    periodEnd: nextMonth(now),
  };
  world.subscriptions.set(subscription.id, subscription);
  emit(world, "customer.subscription.created", showSubscription(subscription));
  emit(world, "checkout.session.completed", {
    id: session.id,
    object: "checkout.session",
    customer: session.customer,
    subscription: subscription.id,
  });
  return subscription;
}

/** Ends a subscription at once, without a last invoice, like the button in the processor's dashboard. */
export function cancelSubscription(world: World, subscription: Subscription): void {
  subscription.status = "canceled";
  emit(world, "customer.subscription.deleted", showSubscription(subscription));
}

/** Collects an open invoice. */
export function collect(world: World, invoice: Invoice): void {
  const subscription = world.subscriptions.get(invoice.subscription)!;
  const customer = world.customers.get(invoice.customer)!;
  invoice.attempted = true;
  if (customer.cardFails && invoice.subtotal > 0) {
    emit(world, "invoice.payment_failed", showInvoice(invoice));
    if (subscription.status === "active") subscription.status = "past_due";
    emit(world, "customer.subscription.updated", showSubscription(subscription));
    return;
  }
  invoice.status = "paid";
  invoice.amountPaid = invoice.subtotal;
  emit(world, "invoice.paid", showInvoice(invoice));
  if (subscription.status === "past_due" || subscription.status === "unpaid") {
    subscription.status = "active";
    emit(world, "customer.subscription.updated", showSubscription(subscription));
  }
}

function closePeriod(world: World, subscription: Subscription): void {
  const invoice: Invoice = {
    id: newId("in"),
    number: null,
    created: subscription.periodEnd,
    customer: subscription.customer,
    subscription: subscription.id,
    billingReason: "subscription_cycle",
    status: "draft",
    autoAdvance: true,
    attempted: false,
    periodStart: subscription.periodStart,
    periodEnd: subscription.periodEnd,
    subtotal: 0,
    amountPaid: 0,
  };
  invoice.subtotal = priceUsage(world, invoice);
  world.invoices.set(invoice.id, invoice);
  subscription.latestInvoice = invoice.id;
  subscription.periodStart = subscription.periodEnd;
  subscription.periodEnd = nextMonth(subscription.periodEnd);
  emit(world, "invoice.created", showInvoice(invoice));
}

function isRipe(world: World, invoice: Invoice, now: number): boolean {
  if (!invoice.autoAdvance) return false;
  const notice = world.webhooks.outbox.find(
    ({ event }) =>
      event.type === "invoice.created" && (event.data.object as { id: string }).id === invoice.id,
  );
  const waits = world.webhooks.url !== undefined && notice?.delivered !== true;
  return now >= invoice.created + (waits ? unansweredSeconds : draftSeconds);
}

function finalize(world: World, invoice: Invoice): void {
  invoice.status = "open";
  invoice.number = `STAND-${invoice.id.slice(3)}`;
  invoice.subtotal = priceUsage(world, invoice);
  emit(world, "invoice.finalized", showInvoice(invoice));
  collect(world, invoice);
}

/** Ten cents for each started thousand of the usage dated inside the invoice's period. */
function priceUsage(world: World, invoice: Invoice): number {
  const used = world.meterEvents
    .filter(
      ({ customer, timestamp }) =>
        customer === invoice.customer && timestamp >= invoice.periodStart && timestamp < invoice.periodEnd,
    )
    .reduce((sum, { value }) => sum + value, 0);
  return Math.ceil(used / 1000) * 10;
}

function nextMonth(seconds: number): number {
  const date = new Date(seconds * 1000);
  return Date.UTC(date.getUTCFullYear(), date.getUTCMonth() + 1) / 1000;
}
