import type pg from "pg";
import { inTransaction } from "../postgres/pool.ts";
import type { Period } from "./ledger.ts";

/** An organization's customer, payment page and subscription at the processor; a row of `billing_accounts`. */
export interface BillingAccount {
  org_id: string;
  customer_id: string | null;
  checkout_session_id: string | null;
  customer_attempt: number;
  checkout_attempt: number;
  subscription_id: string | null;
  subscribed_at: number | null;
  /** Stored in the column `standing`. */
  subscription_state: SubscriptionState | null;
  has_payment_method: boolean;
  export_from: Period | null;
  version: number;
}

/** State of a customer's subscription at the processor: it pays, its invoice failed, or the subscription is over. */
export type SubscriptionState = "paying" | "failing" | "ended";

const columns = `org_id, customer_id, checkout_session_id, customer_attempt, checkout_attempt, subscription_id,
  subscribed_at, standing as subscription_state, has_payment_method, export_from, version`;

/** Finds the account of an organization, or of one of the processor's customers; undefined before the first checkout. */
export async function findAccount(
  queryable: pg.Pool | pg.ClientBase,
  column: "org_id" | "customer_id",
  value: string,
): Promise<BillingAccount | undefined> {
  const { rows } = await queryable.query<BillingAccount>(
    `select ${columns}
     from billing_accounts
     where ${column} = $1`,
    [value],
  );
  return rows[0];
}

/** Reads the organization's account, and creates it when there is none. */
export async function ensureAccount(pool: pg.Pool, orgId: string): Promise<BillingAccount> {
  return inTransaction(pool, async (client) => {
    await client.query("insert into billing_accounts (org_id) values ($1) on conflict (org_id) do nothing", [
      orgId,
    ]);
    return (await findAccount(client, "org_id", orgId))!;
  });
}

/** Stores the customer that an attempt created, unless one is stored already. @returns the stored one. */
export async function saveCustomer(pool: pg.Pool, orgId: string, customerId: string): Promise<string> {
  const { rows } = await pool.query<{ customer_id: string }>(
    `update billing_accounts
     set customer_id = coalesce(customer_id, $2)
     where org_id = $1
     returning customer_id`,
    [orgId, customerId],
  );
  return rows[0]!.customer_id;
}

/**
 * Begins a new attempt to create a customer, and clears the stored customer, for example because the processor has
 * deleted it. Does nothing if another process has already done so.
 */
export async function renewCustomerAttempt(pool: pg.Pool, account: BillingAccount): Promise<void> {
  await pool.query(
    `update billing_accounts
     set customer_attempt = customer_attempt + 1,
       checkout_attempt = checkout_attempt + 1,
       customer_id = null,
       checkout_session_id = null
     where org_id = $1
       and customer_attempt = $2`,
    [account.org_id, account.customer_attempt],
  );
}

/** Stores the payment page of an attempt, so that the next request returns the same page. */
export async function saveCheckout(pool: pg.Pool, account: BillingAccount, sessionId: string): Promise<void> {
  await pool.query(
    `update billing_accounts
     set checkout_session_id = $3
     where org_id = $1
       and checkout_attempt = $2`,
    [account.org_id, account.checkout_attempt, sessionId],
  );
}

/** Begins a new attempt to create a payment page, because the present one was used or refused, or has expired. */
export async function renewCheckoutAttempt(pool: pg.Pool, account: BillingAccount): Promise<void> {
  await pool.query(
    `update billing_accounts
     set checkout_attempt = checkout_attempt + 1,
       checkout_session_id = null
     where org_id = $1
       and checkout_attempt = $2`,
    [account.org_id, account.checkout_attempt],
  );
}
