import type { Stripe } from "stripe";
import type pg from "pg";
import { inTransaction } from "../postgres/pool.ts";
import { type BillingAccount, findAccount } from "./accountStore.ts";
import { applyChange, lockStatus } from "./changeStatus.ts";
import { periodOf } from "./ledger.ts";
import { changeAfter, type ProcessorFacts, summarizeSubscriptions } from "./subscriptionState.ts";
import type { Parts } from "../items/parts.ts";

export interface SyncDeps extends Pick<Parts, "pool" | "cells" | "nowMs"> {
  stripe: Stripe;
}

/** Attempts to apply a reading, each lost to another process, before the notice is postponed. */
const tries = 5;

/**
 * Updates an organization's billing state from the processor's present data and not from the notice: notices may arrive
 * twice, late and out of order. A reading is applied only if no other reading was applied since it began (optimistic
 * locking by `version`).
 * @returns false for a customer that belongs to no organization here.
 * @throws the processor's errors.
 */
export async function syncSubscription(deps: SyncDeps, customerId: string, cause: string): Promise<boolean> {
  for (let attempt = 1; attempt <= tries; attempt++) {
    const account = await findAccount(deps.pool, "customer_id", customerId);
    if (account === undefined) return false;
    const facts = await readFacts(deps.stripe, customerId);
    const { pool } = deps.cells.ofOrg(account.org_id);
    if (await applyFacts({ pool, nowMs: deps.nowMs }, account, facts, cause)) return true;
  }
  throw new Error(`customer ${customerId} changes faster than it can be read`);
}

/** The facts of a customer that was deleted at the processor, together with its subscriptions. */
const deletedFacts: ProcessorFacts = {
  subscriptionState: "ended",
  subscriptionId: null,
  subscribedAt: null,
  hasPaymentMethod: false,
};

/**
 * Applies the deletion of the account's customer before a new customer replaces it: the processor's own notice comes later,
 * and its customer would no longer be found.
 * @param pool the pool of the organization's cell.
 * @returns false when another reading was applied since `account` was read; it may be older than the deletion.
 */
export function noteDeletedCustomer(
  pool: pg.Pool,
  account: BillingAccount,
  nowMs: () => number,
): Promise<boolean> {
  return applyFacts({ pool, nowMs }, account, deletedFacts, "stripe: the customer was deleted");
}

async function readFacts(stripe: Stripe, customerId: string): Promise<ProcessorFacts> {
  const customer = await stripe.customers.retrieve(customerId);
  if (customer.deleted) return deletedFacts;
  const [subscriptions, openInvoices] = await Promise.all([
    stripe.subscriptions.list({ customer: customerId, status: "all", limit: 100 }),
    stripe.invoices.list({ customer: customerId, status: "open", limit: 100 }),
  ]);
  const summary = summarizeSubscriptions(subscriptions.data, openInvoices.data);
  const subscription = subscriptions.data.find(({ id }) => id === summary.subscriptionId);
  const isLive = subscription !== undefined && summary.subscriptionState !== "ended";
  return {
    ...summary,
    hasPaymentMethod:
      customer.invoice_settings.default_payment_method !== null ||
      (isLive && subscription.default_payment_method !== null),
  };
}

/**
 * Applies a reading in one transaction; false when another reading was applied since `account` was read. `pool` is the pool of
 * the organization's cell.
 */
function applyFacts(
  { pool, nowMs }: Pick<SyncDeps, "pool" | "nowMs">,
  account: BillingAccount,
  facts: ProcessorFacts,
  cause: string,
): Promise<boolean> {
  const orgId = account.org_id;
  const nowSeconds = Math.floor(nowMs() / 1000);
  return inTransaction(pool, async (client) => {
    const stored = await lockStatus(client, orgId, nowSeconds);
    if (stored === undefined)
      throw new Error(`organization ${orgId} has a billing account and does not exist`);
    const { rowCount } = await client.query(
      `update billing_accounts
       set standing = coalesce($3, standing),
         has_payment_method = $4,
         subscription_id = coalesce($5, subscription_id),
         subscribed_at = coalesce($6, subscribed_at),
         export_from = coalesce(export_from, $7),
         version = version + 1
       where org_id = $1
         and version = $2`,
      [
        orgId,
        account.version,
        facts.subscriptionState,
        facts.hasPaymentMethod,
        facts.subscriptionId,
        facts.subscribedAt,
        // The first month to export is the whole month in which the subscription began.
        facts.subscribedAt === null ? null : periodOf(facts.subscribedAt * 1000),
      ],
    );
    if (rowCount === 0) return false;
    const change = changeAfter(stored.state, account.subscription_state, facts.subscriptionState, nowSeconds);
    if (change !== undefined) {
      const actor = { kind: "service", name: cause } as const;
      await applyChange(client, stored, change, { orgId, actor, cause, nowSeconds });
    }
    return true;
  });
}
