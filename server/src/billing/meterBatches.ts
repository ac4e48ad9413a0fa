import type pg from "pg";
import { repeatWhileFull } from "../runtime/repeatWhileFull.ts";
import { addMonths, type Period, periodOf } from "./ledger.ts";

/** Usage of one organization and month, sent as one event to the processor's meter. */
export interface MeterBatch {
  identifier: string;
  org_id: string;
  customer_id: string;
  period: Period;
  value: number;
  /** Unix seconds. */
  event_timestamp: number;
  attempts: number;
  /** Unix seconds; from then on the meter's total is read before the batch is sent again. */
  unsafe_at: number;
}

/** The evidence that a batch is at the processor. */
export type SettledBy = "confirmed" | "duplicate" | "summary" | "operator";

/** For how long a batch may safely be sent again: the processor remembers an identifier for at least 24 hours. */
export const safeSeconds = 23 * 3600;
/** Maximum age of an event that the processor accepts. */
export const maxAgeSeconds = 35 * 86_400;

/** Open batches that are due, those with the earliest due time first. */
export async function findDueBatches(
  pool: pg.Pool,
  nowSeconds: number,
  limit: number,
): Promise<MeterBatch[]> {
  const { rows } = await pool.query<MeterBatch>(
    `select identifier, org_id, customer_id, period, value, event_timestamp, attempts, unsafe_at
     from meter_batches
     where status = 'open'
       and due_at <= $1
     order by due_at, identifier
     limit $2`,
    [nowSeconds, limit],
  );
  return rows;
}

/**
 * Counts a batch as exported, once. @returns false when another process or an operator has done so before.
 */
export async function settleBatch(
  database: pg.Pool | pg.ClientBase,
  identifier: string,
  settledBy: SettledBy,
  nowSeconds: number,
): Promise<boolean> {
  const { rowCount } = await database.query(
    `with settled as (
       update meter_batches
       set status = 'exported',
         settled_by = $2,
         settled_at = $3,
         attempts = attempts + case when $2 = 'operator' then 0 else 1 end,
         last_error = null
       where identifier = $1
         and status <> 'exported'
       returning org_id, period, value
     )
     update meter_counters c
     set exported = c.exported + s.value
     from settled s
     where c.org_id = s.org_id
       and c.period = s.period`,
    [identifier, settledBy, nowSeconds],
  );
  return rowCount === 1;
}

/** Schedules the next attempt at a batch, and stores the error of this one. */
export async function postponeBatch(
  pool: pg.Pool,
  identifier: string,
  dueAt: number,
  error: string,
): Promise<void> {
  await pool.query(
    `update meter_batches
     set due_at = $2,
       attempts = attempts + 1,
       last_error = $3
     where identifier = $1
       and status = 'open'`,
    [identifier, dueAt, error.slice(0, 500)],
  );
}

/** Marks a batch for an operator; later usage of the customer is exported without waiting for it. */
export async function escalateBatch(pool: pg.Pool, identifier: string, reason: string): Promise<void> {
  await pool.query(
    `update meter_batches
     set status = 'attention',
       last_error = $2
     where identifier = $1
       and status = 'open'`,
    [identifier, reason.slice(0, 500)],
  );
}

/**
 * Opens a batch for another 23 hours, because the processor has not stored it.
 * @returns false when there is no such batch, or it is exported.
 */
export async function renewBatch(
  database: pg.Pool | pg.ClientBase,
  identifier: string,
  nowSeconds: number,
): Promise<boolean> {
  const { rowCount } = await database.query(
    `update meter_batches
     set status = 'open',
       due_at = $2,
       unsafe_at = $3
     where identifier = $1
       and status <> 'exported'`,
    [identifier, nowSeconds, nowSeconds + safeSeconds],
  );
  return rowCount === 1;
}

export interface MonthProgress {
  exported: number;
  /** Number of unsettled batches of the month, except the given one. */
  unsettled: number;
}

/** Reads the exported items and unsettled batches of an organization's month. */
export async function readProgress(
  pool: pg.Pool,
  batch: Pick<MeterBatch, "org_id" | "period" | "identifier">,
): Promise<MonthProgress> {
  const { rows } = await pool.query<MonthProgress>(
    `select
       c.exported,
       (
         select count(*)
         from meter_batches b
         where b.org_id = c.org_id
           and b.period = c.period
           and b.status <> 'exported'
           and b.identifier <> $3
       ) as unsettled
     from meter_counters c
     where c.org_id = $1
       and c.period = $2`,
    [batch.org_id, batch.period, batch.identifier],
  );
  return rows[0] ?? { exported: 0, unsettled: 0 };
}

const forgottenAtOnce = 20_000;

/**
 * Deletes exported batches of months before the previous one, because a busy organization has thousands a day. Their sums stay
 * in `meter_counters`. A batch that an operator settled late is kept for as long as a batch may wait. @returns the number of
 * deleted batches.
 */
export function forgetBatches(pool: pg.Pool, nowSeconds: number): Promise<number> {
  const firstKept = addMonths(periodOf(nowSeconds * 1000), -1);
  return repeatWhileFull(forgottenAtOnce, async () => {
    const { rowCount } = await pool.query(
      `delete from meter_batches
       where identifier in (
         select b.identifier
         from billing_accounts a
         join meter_batches b on b.org_id = a.org_id
         where b.period < $1
           and b.status = 'exported'
           and b.settled_at < $2
         limit $3
       )`,
      [firstKept, nowSeconds - maxAgeSeconds, forgottenAtOnce],
    );
    return rowCount ?? 0;
  });
}
