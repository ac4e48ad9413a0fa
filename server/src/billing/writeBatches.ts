import type pg from "pg";
import { maxAgeSeconds, safeSeconds } from "./meterBatches.ts";
import { addMonths, periodBounds, periodOf } from "./ledger.ts";

const organizationsAtOnce = 1_000;
/** How many earlier months can still be exported: events may be 35 days old, which reaches back two months at most. */
const monthsBack = 2;

/**
 * Stores the next batches: for each customer without an open batch, the items of its earliest unfinished month that are in
 * no batch yet. Sends nothing.
 * @param pool the pool of a cell, which has the ledger of its own organizations only.
 * @returns the number of batches written.
 */
export async function writeBatches(pool: pg.Pool, nowSeconds: number): Promise<number> {
  const current = periodOf(nowSeconds * 1000);
  const periods = Array.from({ length: monthsBack + 1 }, (_, back) => addMonths(current, -back));
  const lastSeconds = periods.map((period) => periodBounds(period).endSeconds - 1);
  const accounts = await pool.query<{ org_id: string }>(
    "select org_id from billing_accounts where export_from is not null",
  );
  const { rows: ledger } = await pool.query<{ org_id: string; period: number; accepted: number }>({
    name: "read_ledgers",
    text: ledgerText,
    values: [accounts.rows.map((row) => row.org_id), periods],
  });
  if (ledger.length === 0) return 0;
  const { rowCount } = await pool.query({
    name: "write_meter_batches",
    text: statement,
    values: [
      periods,
      lastSeconds,
      nowSeconds,
      maxAgeSeconds,
      organizationsAtOnce,
      safeSeconds,
      ledger.map((row) => row.org_id),
      ledger.map((row) => row.period),
      ledger.map((row) => row.accepted),
    ],
  });
  return rowCount ?? 0;
}

/** One statement, because `foldUsage` moves records into the totals. */
const ledgerText = `
select u.org_id, u.period, sum(u.items)::bigint as accepted
from (
  select t.org_id, t.period, t.items
  from unnest($1::uuid[]) as a (org_id)
  join usage_totals t on t.org_id = a.org_id
  where t.period = any ($2)
  union all
  select r.org_id, r.period, r.items
  from unnest($1::uuid[]) as a (org_id)
  join usage_records r on r.org_id = a.org_id
  where r.period = any ($2)
) u
group by u.org_id, u.period`;

const statement = `
with month as (
  select *
  from unnest($1::integer[], $2::bigint[]) as m (period, last_second)
),
ledger as (
  select *
  from unnest($7::uuid[], $8::integer[], $9::bigint[]) as l (org_id, period, accepted)
),
due as (
  select distinct on (l.org_id)
    l.org_id,
    l.period,
    a.customer_id,
    coalesce(c.batches, 0) + 1 as number,
    l.accepted - coalesce(c.waived, 0) as target,
    l.accepted - coalesce(c.waived, 0) - coalesce(c.batched, 0) as value,
    least(greatest($3::bigint, a.subscribed_at), m.last_second) as event_timestamp
  from ledger l
  join month m on m.period = l.period
  join billing_accounts a on a.org_id = l.org_id
  join organizations o on o.id = l.org_id
  left join meter_counters c on c.org_id = l.org_id and c.period = l.period
  where a.customer_id is not null
    and l.period >= a.export_from
    and o.billing_status <> 'exempt'
    and l.accepted > coalesce(c.batched, 0) + coalesce(c.waived, 0)
    and m.last_second > $3::bigint - $4::bigint
    and not exists (
      select
      from meter_batches b
      where b.customer_id = a.customer_id
        and b.status = 'open'
    )
  order by l.org_id, l.period
  limit $5
),
counted as (
  -- Only if the counter has not changed since it was read; otherwise another exporter has written the batch.
  insert into meter_counters (org_id, period, batches, batched)
  select org_id, period, number, target
  from due
  on conflict (org_id, period) do update
  set batches = excluded.batches,
    batched = excluded.batched
  where meter_counters.batches = excluded.batches - 1
  returning org_id, period
)
insert into meter_batches (
  identifier, org_id, customer_id, period, value, event_timestamp, created_at, due_at, unsafe_at
)
select
  'postrider-' || replace(d.org_id::text, '-', '') || '-' || d.period || '-' || d.number,
  d.org_id,
  d.customer_id,
  d.period,
  d.value,
  d.event_timestamp,
  $3,
  $3,
  $3::bigint + $6::bigint
from due d
join counted using (org_id, period)`;
