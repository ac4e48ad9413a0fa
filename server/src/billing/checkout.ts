import type { Stripe } from "stripe";
import type pg from "pg";
import {
  type BillingAccount,
  ensureAccount,
  renewCheckoutAttempt,
  renewCustomerAttempt,
  saveCheckout,
  saveCustomer,
} from "./accountStore.ts";
import { noteDeletedCustomer } from "./syncSubscription.ts";
import { type Processor, stripeLibrary } from "./processor.ts";

export interface CheckoutDeps extends Processor {
  /** The pool of the organization's cell. */
  pool: pg.Pool;
  nowMs: () => number;
  /** The public URL of the service, to which the payment page redirects in the end. */
  publicUrl: string;
}

/** Attempts of one call: a deleted customer, a used page and a changed parameter each cost one. */
const tries = 4;

export type CheckoutOutcome =
  | { outcome: "open"; url: string }
  /** There is no such organization. */
  | { outcome: "not_found" }
  | { outcome: "exempt" }
  /** The organization has a subscription already. */
  | { outcome: "subscribed" }
  /** Other requests changed the payment page during every attempt. */
  | { outcome: "busy" };

/**
 * Opens a hosted payment page for the organization. A second request returns the same page. An organization with a
 * subscription gets no page, because two subscriptions would both bill the same usage.
 * @throws the processor's errors.
 */
export async function openCheckout(deps: CheckoutDeps, orgId: string): Promise<CheckoutOutcome> {
  const organization = await findOrganization(deps.pool, orgId);
  if (organization === undefined) return { outcome: "not_found" };
  if (organization.billing_status === "exempt") return { outcome: "exempt" };
  for (let attempt = 1; attempt <= tries; attempt++) {
    const customer = await findCustomer(deps, orgId, organization);
    const page = customer && (await findPage(deps, customer));
    if (page !== undefined) return page;
  }
  return { outcome: "busy" };
}

interface Organization {
  name: string;
  billing_status: string;
  email: string | null;
}

async function findOrganization(pool: pg.Pool, orgId: string): Promise<Organization | undefined> {
  const { rows } = await pool.query<Organization>(
    `select
       o.name,
       o.billing_status,
       (select u.email from users u where u.org_id = o.id order by u.created_at, u.id limit 1) as email
     from organizations o
     where o.id = $1`,
    [orgId],
  );
  return rows[0];
}

type Customer = BillingAccount & { customer_id: string };

/** Finds or creates the organization's customer; undefined when the next attempt may succeed. */
async function findCustomer(
  deps: CheckoutDeps,
  orgId: string,
  organization: Organization,
): Promise<Customer | undefined> {
  const account = await ensureAccount(deps.pool, orgId);
  if (account.customer_id !== null) return account as Customer;
  try {
    const customer = await deps.stripe.customers.create(
      {
        name: organization.name,
        ...(organization.email !== null && { email: organization.email }),
        metadata: { org_id: orgId },
      },
      { idempotencyKey: `postrider-customer-${orgId}-${account.customer_attempt}` },
    );
    return { ...account, customer_id: await saveCustomer(deps.pool, orgId, customer.id) };
  } catch (error) {
    const remedy = remedyFor(error);
    if (remedy !== "wait") await renewCustomerAttempt(deps.pool, account);
    if (remedy === "retry") return undefined;
    throw error;
  }
}

/** Finds or creates the customer's payment page; undefined when the next attempt may succeed. */
async function findPage(
  deps: CheckoutDeps,
  customer: Customer,
): Promise<Extract<CheckoutOutcome, { outcome: "open" | "subscribed" }> | undefined> {
  try {
    if (await hasSubscription(deps, customer.customer_id)) return { outcome: "subscribed" };
    const known = customer.checkout_session_id;
    const url = known === null ? await createPage(deps, customer) : await reopenPage(deps, customer, known);
    return url === undefined ? undefined : { outcome: "open", url };
  } catch (error) {
    if (!isMissing(error, "customer")) throw error;
    const isNoted =
      !(await isDeleted(deps.stripe, customer.customer_id)) ||
      (await noteDeletedCustomer(deps.pool, customer, deps.nowMs));
    if (isNoted) await renewCustomerAttempt(deps.pool, customer);
    return undefined;
  }
}

/** Whether the processor has deleted the customer; false if it never had it, such as a customer of its test mode. */
async function isDeleted(stripe: Stripe, customerId: string): Promise<boolean> {
  try {
    return (await stripe.customers.retrieve(customerId)).deleted === true;
  } catch (error) {
    if (isMissing(error, "customer")) return false;
    throw error;
  }
}

async function hasSubscription(deps: CheckoutDeps, customerId: string): Promise<boolean> {
  const subscriptions = await deps.stripe.subscriptions.list({
    customer: customerId,
    status: "all",
    limit: 20,
  });
  const over = ["canceled", "incomplete", "incomplete_expired"];
  return subscriptions.data.some((subscription) => !over.includes(subscription.status));
}

/** The URL of the earlier page while it is open; otherwise undefined, and the next attempt creates another page. */
async function reopenPage(
  deps: CheckoutDeps,
  customer: Customer,
  sessionId: string,
): Promise<string | undefined> {
  try {
    const session = await deps.stripe.checkout.sessions.retrieve(sessionId);
    if (session.status === "open" && session.url !== null) return session.url;
  } catch (error) {
    // After other errors the page may still be open, and a customer with two open pages could pay on both.
    if (!isMissing(error, "checkout.session")) throw error;
  }
  await renewCheckoutAttempt(deps.pool, customer);
  return undefined;
}

async function createPage(deps: CheckoutDeps, customer: Customer): Promise<string | undefined> {
  try {
    const session = await deps.stripe.checkout.sessions.create(
      {
        mode: "subscription",
        customer: customer.customer_id,
        client_reference_id: customer.org_id,
        line_items: [{ price: deps.config.priceId }],
        success_url: `${deps.publicUrl}/billing?checkout=done`,
        cancel_url: `${deps.publicUrl}/billing?checkout=canceled`,
        subscription_data: {
          // Invoices cover UTC calendar months, as the ledger does.
          billing_cycle_anchor_config: { day_of_month: 1, hour: 0, minute: 0, second: 0 },
          metadata: { org_id: customer.org_id },
        },
      },
      { idempotencyKey: `postrider-checkout-${customer.org_id}-${customer.checkout_attempt}` },
    );
    await saveCheckout(deps.pool, customer, session.id);
    return session.url ?? undefined;
  } catch (error) {
    const remedy = isMissing(error, "customer") ? "wait" : remedyFor(error);
    if (remedy !== "wait") await renewCheckoutAttempt(deps.pool, customer);
    if (remedy === "retry") return undefined;
    throw error;
  }
}

/**
 * Chooses the reaction to a failed request with an idempotency key. The processor stores its answer to a key, errors
 * included, so an answered key is used up: `renew` takes a new key for the next call; `retry` takes a new key and tries at
 * once, because the request's parameters had changed. `wait` keeps the key, when there was no answer or it was not stored.
 */
function remedyFor(error: unknown): "wait" | "renew" | "retry" {
  if (!(error instanceof stripeLibrary().errors.StripeError)) return "wait";
  const { statusCode: status } = error;
  if (status === undefined || status === 409 || status === 429) return "wait";
  return error instanceof stripeLibrary().errors.StripeIdempotencyError ? "retry" : "renew";
}

/** Whether an error of the processor says that it does not have the object, such as a deleted customer. */
export function isMissing(error: unknown, param: string): boolean {
  if (!(error instanceof stripeLibrary().errors.StripeError) || error.code !== "resource_missing")
    return false;
  return error.param === param || error.message.startsWith(`No such ${param}`);
}
