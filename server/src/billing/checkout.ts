import { Stripe } from "stripe";
import type pg from "pg";
import type { StripeConfig } from "../config.ts";
import { ApiError, notFound } from "../http/errors.ts";
import {
  type BillingAccount,
  ensureAccount,
  renewCheckoutAttempt,
  renewCustomerAttempt,
  saveCheckout,
  saveCustomer,
} from "./accountStore.ts";

export interface CheckoutDeps {
  pool: pg.Pool;
  stripe: Stripe;
  config: StripeConfig;
  /** The address under which users reach the service, for their way back from the payment page. */
  publicUrl: string;
}

/** Attempts within one call: a deleted customer, a used page and a changed parameter cost one each. */
const tries = 4;

/**
 * The address of a hosted payment page for the organization. Asking twice leads to the same page, and a
 * workspace with a subscription gets none, because two subscriptions would each bill the same usage.
 * @throws {ApiError} 409 when there is nothing to set up; 404 without such an organization. The processor's own
 * errors pass through.
 */
export async function openCheckout(deps: CheckoutDeps, orgId: string): Promise<string> {
  const organization = await findOrganization(deps.pool, orgId);
  if (organization.billing_status === "exempt") {
    throw new ApiError(409, "this workspace is exempt from billing");
  }
  for (let attempt = 1; ; attempt++) {
    const account = await ensureAccount(deps.pool, orgId);
    try {
      const customerId = account.customer_id ?? (await createCustomer(deps, account, organization));
      await refuseSecondSubscription(deps, customerId);
      const url = await openPage(deps, account, customerId);
      if (url !== undefined) return url;
    } catch (error) {
      if (attempt === tries || !(await renewAfter(deps, account, error))) throw error;
    }
    if (attempt === tries) {
      throw new ApiError(503, "the payment page is being changed by another request: try again", {
        retryAfterSeconds: 1,
      });
    }
  }
}

interface Organization {
  name: string;
  billing_status: string;
  email: string | null;
}

async function findOrganization(pool: pg.Pool, orgId: string): Promise<Organization> {
  const { rows } = await pool.query<Organization>(
    `select
       o.name,
       o.billing_status,
       (select u.email from users u where u.org_id = o.id order by u.created_at, u.id limit 1) as email
     from organizations o
     where o.id = $1`,
    [orgId],
  );
  const organization = rows[0];
  if (organization === undefined) throw notFound();
  return organization;
}

async function createCustomer(
  deps: CheckoutDeps,
  account: BillingAccount,
  organization: Organization,
): Promise<string> {
  const customer = await deps.stripe.customers.create(
    {
      name: organization.name,
      ...(organization.email !== null && { email: organization.email }),
      metadata: { org_id: account.org_id },
    },
    { idempotencyKey: `postrider-customer-${account.org_id}-${account.customer_attempt}` },
  );
  return saveCustomer(deps.pool, account.org_id, customer.id);
}

async function refuseSecondSubscription(deps: CheckoutDeps, customerId: string): Promise<void> {
  const subscriptions = await deps.stripe.subscriptions.list({
    customer: customerId,
    status: "all",
    limit: 20,
  });
  const over = ["canceled", "incomplete", "incomplete_expired"];
  if (subscriptions.data.some((subscription) => !over.includes(subscription.status))) {
    throw new ApiError(409, "this workspace has a subscription: change its payment method in the portal");
  }
}

/** The open page of the account, or a new one; undefined when the page on record is used up. */
async function openPage(
  deps: CheckoutDeps,
  account: BillingAccount,
  customerId: string,
): Promise<string | undefined> {
  const { stripe, config } = deps;
  if (account.checkout_session_id !== null) {
    const session = await stripe.checkout.sessions.retrieve(account.checkout_session_id);
    if (session.status === "open" && session.url !== null) return session.url;
    await renewCheckoutAttempt(deps.pool, account);
    return undefined;
  }
  const home = deps.publicUrl;
  const session = await stripe.checkout.sessions.create(
    {
      mode: "subscription",
      customer: customerId,
      client_reference_id: account.org_id,
      line_items: [{ price: config.priceId }],
      success_url: `${home}/billing?checkout=done`,
      cancel_url: `${home}/billing?checkout=canceled`,
      subscription_data: {
        // Invoices cover UTC calendar months, as the ledger does.
        billing_cycle_anchor_config: { day_of_month: 1, hour: 0, minute: 0, second: 0 },
        metadata: { org_id: account.org_id },
      },
    },
    { idempotencyKey: `postrider-checkout-${account.org_id}-${account.checkout_attempt}` },
  );
  if (session.url === null) {
    await renewCheckoutAttempt(deps.pool, account);
    return undefined;
  }
  await saveCheckout(deps.pool, account, session.id);
  return session.url;
}

/**
 * Makes the next attempt a new one where the processor would only repeat its failure: it remembers the answer
 * to an idempotency key, errors included. @returns whether it is worth trying again at once.
 */
async function renewAfter(deps: CheckoutDeps, account: BillingAccount, error: unknown): Promise<boolean> {
  if (!(error instanceof Stripe.errors.StripeError)) return false;
  const { statusCode: status } = error;
  // Without an answer the same key must be used again; 409 and 429 are not remembered.
  if (status === undefined || status === 409 || status === 429) return false;
  const customerIsGone = error.code === "resource_missing" && error.param === "customer";
  if (account.customer_id === null || customerIsGone) await renewCustomerAttempt(deps.pool, account);
  else await renewCheckoutAttempt(deps.pool, account);
  return customerIsGone || error instanceof Stripe.errors.StripeIdempotencyError;
}
