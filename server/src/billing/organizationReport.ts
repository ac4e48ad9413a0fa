import type pg from "pg";
import { isId } from "../postgres/ids.ts";
import type { BillingStatus } from "../postgres/tables.ts";
import { ApiError } from "../http/contract/errors.ts";
import { pendingItems, readLedgerMonth } from "./ledger.ts";
import { periodOf } from "./period.ts";
import { effectiveGraceEnd, effectiveStatus, type StoredStatus } from "./status.ts";

/** The id of the organization that an operator names. @throws {ApiError} 404 when there is none. */
export async function findOrganizationId(pool: pg.Pool, idOrSlug: string): Promise<string> {
  const { rows } = await pool.query<{ id: string }>(
    isId(idOrSlug)
      ? "select id from organizations where id = $1::uuid"
      : "select id from organizations where slug = $1",
    [idOrSlug],
  );
  const organization = rows[0];
  if (organization === undefined) throw new ApiError(404, `there is no organization ${idOrSlug}`);
  return organization.id;
}

interface ListedOrganization extends StoredStatus {
  id: string;
  name: string;
  slug: string;
  created_at: number;
}

const pageSize = 500;

/** All organizations in the order of their ids, or those that are in a state at `nowSeconds`. */
export async function* listOrganizations(
  pool: pg.Pool,
  status: BillingStatus | undefined,
  nowSeconds: number,
): AsyncGenerator<ListedOrganization> {
  let after = "0".repeat(32);
  for (;;) {
    const { rows } = await pool.query<ListedOrganization>(
      `select id, name, slug, billing_status, billing_grace_ends_at, created_at
       from organizations
       where id > $1
       order by id
       limit $2`,
      [after, pageSize],
    );
    for (const row of rows) {
      const listed = asOf(row, nowSeconds);
      if (status === undefined || listed.billing_status === status) yield listed;
    }
    if (rows.length < pageSize) return;
    after = rows.at(-1)!.id;
  }
}

/**
 * What an operator wants to know of an organization: state and its history, usage, export, open questions.
 * @param pool of the organization's cell.
 */
export async function describeOrganization(
  pool: pg.Pool,
  orgId: string,
  nowSeconds: number,
): Promise<object> {
  const period = periodOf(nowSeconds * 1000);
  const month = await readLedgerMonth(pool, orgId, period);
  const [organizations, changes, accounts, batches, invoices] = await Promise.all([
    pool.query<ListedOrganization>(
      `select id, name, slug, billing_status, billing_grace_ends_at, created_at
       from organizations
       where id = $1`,
      [orgId],
    ),
    pool.query<object>(
      `select from_status as "from", to_status as "to", cause, changed_at
       from billing_state_changes
       where org_id = $1
       order by id`,
      [orgId],
    ),
    pool.query<object>(
      `select customer_id, subscription_id, standing, has_payment_method, export_from
       from billing_accounts
       where org_id = $1`,
      [orgId],
    ),
    pool.query<object>(
      `select identifier, status, value, event_timestamp, attempts, due_at, last_error
       from meter_batches
       where org_id = $1
         and status <> 'exported'
       order by created_at`,
      [orgId],
    ),
    pool.query<object>(
      `select invoice_id, period, held_at
       from held_invoices
       where org_id = $1
         and released_at is null
       order by held_at`,
      [orgId],
    ),
  ]);
  return {
    ...asOf(organizations.rows[0]!, nowSeconds),
    usage: {
      period,
      accepted: month.accepted,
      waived: month.waived,
      exported: month.exported,
      pending: pendingItems(month),
    },
    account: accounts.rows[0] ?? null,
    unsettled_batches: batches.rows,
    held_invoices: invoices.rows,
    history: changes.rows,
  };
}

function asOf(row: ListedOrganization, nowSeconds: number): ListedOrganization {
  return {
    ...row,
    billing_status: effectiveStatus(row, nowSeconds),
    billing_grace_ends_at: effectiveGraceEnd(row, nowSeconds),
  };
}
