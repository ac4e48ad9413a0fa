import type pg from "pg";
import type { BillingStatus } from "../postgres/tables.ts";

/** An organization's month in the ledger, and its export. All counts are items. */
export interface LedgerMonth {
  /** The stored state: `grace` even after the grace period has lapsed. */
  billing_status: BillingStatus;
  accepted: number;
  /** Accepted while the organization was exempt: never exported, never paid. */
  waived: number;
  /** Confirmed by the processor. */
  exported: number;
  /** Items of earlier months whose export is not confirmed yet. */
  earlierPending: number;
  customerId: string | null;
}

/**
 * Reads a month; undefined when there is no such organization. One statement reads the ledger, so that a record which
 * `foldUsage` moves into the totals at that moment counts exactly once.
 */
export async function readLedgerMonth(
  pool: pg.Pool,
  orgId: string,
  period: Period,
): Promise<LedgerMonth | undefined> {
  const ledger = await pool.query<{ period: number; accepted: number }>({
    name: "read_ledger",
    text: `select u.period, sum(u.items)::bigint as accepted
           from (
             select t.period, t.items
             from usage_totals t
             where t.org_id = $1
               and t.period <= $2
             union all
             select r.period, r.items
             from usage_records r
             where r.org_id = $1
               and r.period <= $2
           ) u
           group by u.period`,
    values: [orgId, period],
  });
  const { rows } = await pool.query<LedgerMonth>({
    name: "read_ledger_month",
    text: `with ledger as (
             select l.period, l.accepted
             from unnest($3::integer[], $4::bigint[]) as l (period, accepted)
           )
           select
             o.billing_status,
             a.customer_id as "customerId",
             coalesce((select l.accepted from ledger l where l.period = $2), 0) as accepted,
             coalesce(c.waived, 0) as waived,
             coalesce(c.exported, 0) as exported,
             coalesce(
               (
                 select sum(greatest(l.accepted - coalesce(e.waived, 0) - coalesce(e.exported, 0), 0))::bigint
                 from ledger l
                 left join meter_counters e on e.org_id = $1 and e.period = l.period
                 where l.period >= a.export_from
                   and l.period < $2
               ),
               0
             ) as "earlierPending"
           from organizations o
           left join billing_accounts a on a.org_id = o.id
           left join meter_counters c on c.org_id = o.id and c.period = $2
           where o.id = $1`,
    values: [orgId, period, ledger.rows.map((row) => row.period), ledger.rows.map((row) => row.accepted)],
  });
  return rows[0];
}

export function billableItems(month: LedgerMonth): number {
  if (month.billing_status === "exempt") return 0;
  return Math.max(month.accepted - month.waived, 0);
}

/**
 * Items that wait for export: those of this month, and of earlier months since the organization has a subscription.
 * While billing is disabled nothing is exported, so all items of the month wait. An exempt organization has none.
 */
export function pendingItems(month: LedgerMonth): number {
  if (month.billing_status === "exempt") return 0;
  return Math.max(billableItems(month) - month.exported, 0) + month.earlierPending;
}

/** The price: 10 US cents for each started 1,000 items of a month, from the first item on. */
export const price = { currency: "usd", priceCents: 10, unitSize: 1000 } as const;

/** Units to pay for a month's billable items; a started unit counts as one. */
export function unitsOf(items: number): number {
  return Math.ceil(items / price.unitSize);
}

/** Cost of a month's billable items, in US cents. */
export function centsOf(items: number): number {
  return unitsOf(items) * price.priceCents;
}

/** A UTC calendar month as the ledger stores it: year × 100 + month, such as 202611. */
export type Period = number;

/** The month of a time in Unix milliseconds. */
export function periodOf(timeMs: number): Period {
  const date = new Date(timeMs);
  return date.getUTCFullYear() * 100 + date.getUTCMonth() + 1;
}

/** The first second of a month, and the first second after it, in Unix seconds. */
export function periodBounds(period: Period): { startSeconds: number; endSeconds: number } {
  const year = Math.floor(period / 100);
  const month = (period % 100) - 1;
  return { startSeconds: Date.UTC(year, month) / 1000, endSeconds: Date.UTC(year, month + 1) / 1000 };
}

/** The month `months` later, or earlier when negative. */
export function addMonths(period: Period, months: number): Period {
  const count = Math.floor(period / 100) * 12 + (period % 100) - 1 + months;
  return Math.floor(count / 12) * 100 + (count % 12) + 1;
}
