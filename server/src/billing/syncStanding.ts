import type { Stripe } from "stripe";
import type pg from "pg";
import type { Cells } from "../postgres/cells.ts";
import { inTransaction } from "../postgres/pool.ts";
import type { BillingAccount } from "./accountStore.ts";
import { findAccountOfCustomer } from "./accountStore.ts";
import { applyChange, lockStatus } from "./changeStatus.ts";
import { type Period, periodOf } from "./period.ts";
import { changeAfter, type ProcessorFacts, standingOf } from "./standing.ts";

export interface SyncDeps {
  pool: pg.Pool;
  /** Where the ledger is, of which a change of state waives a part. */
  cells: Cells;
  stripe: Stripe;
  nowMs: () => number;
}

/** Readings that another process overtook, before giving up until the next round. */
const tries = 5;

/**
 * Brings an organization's state in line with the processor as it is now, whatever the notice said: notices come
 * twice, late and out of order. A reading is applied only if none was applied since it began.
 * @returns false for a customer that is not ours. The processor's errors pass through.
 */
export async function syncStanding(deps: SyncDeps, customerId: string, cause: string): Promise<boolean> {
  for (let attempt = 1; attempt <= tries; attempt++) {
    const account = await findAccountOfCustomer(deps.pool, customerId);
    if (account === undefined) return false;
    const facts = await readFacts(deps.stripe, customerId);
    if (await applyFacts(deps, account, facts, cause)) return true;
  }
  throw new Error(`customer ${customerId} changes faster than it can be read`);
}

async function readFacts(stripe: Stripe, customerId: string): Promise<ProcessorFacts> {
  const customer = await stripe.customers.retrieve(customerId);
  if (customer.deleted) {
    return { standing: "ended", subscriptionId: null, subscribedAt: null, hasPaymentMethod: false };
  }
  const [subscriptions, openInvoices] = await Promise.all([
    stripe.subscriptions.list({ customer: customerId, status: "all", limit: 100 }),
    stripe.invoices.list({ customer: customerId, status: "open", limit: 100 }),
  ]);
  const judged = standingOf(subscriptions.data, openInvoices.data);
  const subscription = subscriptions.data.find(({ id }) => id === judged.subscriptionId);
  const isLive = subscription !== undefined && judged.standing !== "ended";
  return {
    ...judged,
    hasPaymentMethod:
      customer.invoice_settings.default_payment_method !== null ||
      (isLive && subscription.default_payment_method !== null),
  };
}

/** Applies a reading in one transaction; false when another reading was applied since `account` was read. */
function applyFacts(
  { cells, nowMs }: SyncDeps,
  account: BillingAccount,
  facts: ProcessorFacts,
  cause: string,
): Promise<boolean> {
  const orgId = account.org_id;
  const nowSeconds = Math.floor(nowMs() / 1000);
  return inTransaction(cells.ofOrg(orgId).pool, async (client) => {
    const stored = await lockStatus(client, orgId, nowSeconds);
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
        facts.standing,
        facts.hasPaymentMethod,
        facts.subscriptionId,
        facts.subscribedAt,
        firstPeriod(facts),
      ],
    );
    if (rowCount === 0) return false;
    const change = changeAfter(stored.state, account.standing, facts.standing, nowSeconds);
    if (change !== undefined) {
      const actor = { kind: "service", name: cause } as const;
      await applyChange(client, { orgId, stored, change, cause, actor, nowSeconds });
    }
    return true;
  });
}

/** The month that a subscription began in is the first that is exported, as a whole. */
function firstPeriod(facts: ProcessorFacts): Period | null {
  return facts.subscribedAt === null ? null : periodOf(facts.subscribedAt * 1000);
}
