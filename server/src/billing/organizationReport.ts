import type pg from "pg";
import { billingColumns, type Organization } from "../accounts/organizationStore.ts";
import { isId, unknownId } from "../postgres/ids.ts";
import type { BillingStatus } from "../postgres/tables.ts";
import { pendingItems, periodOf, readLedgerMonth } from "./ledger.ts";

/** Finds an organization by its id or slug; undefined when there is none. */
export async function findOrganizationId(pool: pg.Pool, idOrSlug: string): Promise<string | undefined> {
  const { rows } = await pool.query<{ id: string }>(
    isId(idOrSlug)
      ? "select id from organizations where id = $1::uuid"
      : "select id from organizations where slug = $1",
    [idOrSlug],
  );
  return rows[0]?.id;
}

type ListedOrganization = Omit<Organization, "secrets_can_be_revealed">;

const pageSize = 500;

/** All organizations in the order of their ids, or only those whose state at `nowSeconds` is `status`. */
export async function* listOrganizations(
  pool: pg.Pool,
  status: BillingStatus | undefined,
  nowSeconds: number,
): AsyncGenerator<ListedOrganization> {
  let after = unknownId;
  for (;;) {
    const { rows } = await pool.query<ListedOrganization>(
      `select ${listedColumns("$3")}
       from organizations o
       where o.id > $1
       order by o.id
       limit $2`,
      [after, pageSize, nowSeconds],
    );
    for (const listed of rows) {
      if (status === undefined || listed.billing_status === status) yield listed;
    }
    if (rows.length < pageSize) return;
    after = rows.at(-1)!.id;
  }
}

/**
 * Describes an organization to an operator: billing state and history, usage, export, unsettled batches and held invoices.
 * @param pool the pool of the organization's cell.
 * @returns undefined when there is no such organization.
 */
export async function describeOrganization(
  pool: pg.Pool,
  orgId: string,
  nowSeconds: number,
): Promise<object | undefined> {
  const period = periodOf(nowSeconds * 1000);
  const month = await readLedgerMonth(pool, orgId, period);
  if (month === undefined) return undefined;
  const [organizations, changes, accounts, batches, invoices] = await Promise.all([
    pool.query<ListedOrganization>(
      `select ${listedColumns("$2")}
       from organizations o
       where o.id = $1`,
      [orgId, nowSeconds],
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
    ...organizations.rows[0]!,
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

/** SQL columns of a listed organization. @param nowSeconds SQL parameter, such as `$2`, with the present time in Unix seconds. */
function listedColumns(nowSeconds: string): string {
  return `o.id, o.name, o.slug, ${billingColumns(`${nowSeconds}::bigint * 1000`)}, o.created_at`;
}
