import type { Stripe } from "stripe";
import type { Cell, Cells } from "../postgres/cells.ts";
import { findAccount } from "./accountStore.ts";
import { askProcessor, inParallel, type Processor, readMeterTotal, stripeLibrary } from "./processor.ts";
import { type Period, periodOf } from "./ledger.ts";
import type { Parts } from "../items/parts.ts";

interface HoldDeps extends Pick<Parts, "pool" | "nowMs"> {
  stripe: Stripe;
}

export interface ReleaseDeps extends Processor, HoldDeps, Pick<Parts, "cells" | "log"> {
  /** Aborted to end the run after the invoice that is being released. */
  signal: AbortSignal;
}

/**
 * How long after its end a month may still get items: from transactions that began before midnight, and because the
 * clocks of the nodes and the database differ.
 */
const settlingSeconds = 120;
/**
 * Minimum time between storing a held draft and its release: the request that holds the draft may still be in progress, and
 * would hold it forever if it arrived after the release.
 */
const holdingSeconds = 60;
/** How long the meter may take to count confirmed usage. After that an error is logged and the invoice is released. */
const meterLagSeconds = 24 * 3600;
const invoicesPerPage = 200;
/** After this many failures in a row the processor counts as away, and the other invoices wait for the next run. */
const mostFailuresInRow = 5;

/**
 * Holds a month's draft invoice until all of that month's usage has reached the processor: usage that arrives late is added
 * to a draft, but not to a final invoice. Safe to call twice.
 * @throws the processor's errors.
 */
export async function holdInvoice(deps: HoldDeps, customerId: string, invoiceId: string): Promise<void> {
  const account = await findAccount(deps.pool, "customer_id", customerId);
  if (account === undefined) return;
  const invoice = await deps.stripe.invoices.retrieve(invoiceId);
  // Drafts that an operator created are left alone.
  if (invoice.status !== "draft" || invoice.billing_reason !== "subscription_cycle") return;
  const { rowCount } = await deps.pool.query(
    `insert into held_invoices (invoice_id, org_id, period, held_at)
     values ($1, $2, $3, $4)
     on conflict (invoice_id) do update
     set held_at = held_invoices.held_at
     where held_invoices.released_at is null`,
    [invoiceId, account.org_id, periodOf((invoice.period_end - 1) * 1000), Math.floor(deps.nowMs() / 1000)],
  );
  // The row is written first, so that after a crash between the two writes the invoice is still released later.
  if (rowCount === 1) await deps.stripe.invoices.update(invoiceId, { auto_advance: false });
}

interface HeldInvoice {
  invoice_id: string;
  org_id: string;
  /** Null after the processor has deleted the customer, until another one is created. */
  customer_id: string | null;
  period: Period;
  held_at: number;
  is_exempt: boolean;
  /** Items of the month that are never exported. */
  waived: number;
  /** Items of the month that the processor has confirmed. */
  exported: number;
  /** Unix seconds of the last confirmation. */
  settled_at: number | null;
}

/**
 * Releases drafts whose month is completely exported and counted by the meter. A draft that the processor refuses to release
 * waits for the next run and does not delay others. @returns the number of released drafts.
 */
export async function releaseInvoices(deps: ReleaseDeps): Promise<number> {
  let released = 0;
  let failuresInRow = 0;
  const releasable = findReleasable(deps.cells, Math.floor(deps.nowMs() / 1000));
  await inParallel(async () => {
    for await (const held of releasable) {
      if (deps.signal.aborted || failuresInRow >= mostFailuresInRow) return;
      const asked = await askProcessor(() => releaseIfCounted(deps, held));
      failuresInRow = asked.outcome === "unavailable" ? failuresInRow + 1 : 0;
      if (asked.outcome !== "answered") {
        const { invoice_id, org_id } = held;
        deps.log.warn({ invoice_id, org_id, reason: asked.cause.message }, "a held invoice stays held");
      } else if (asked.answer) released++;
    }
  });
  return released;
}

/** @returns whether the draft was released. @throws the processor's errors. */
async function releaseIfCounted(deps: ReleaseDeps, held: HeldInvoice): Promise<boolean> {
  try {
    if (!(await isCounted(deps, held))) return false;
    await deps.stripe.invoices.update(held.invoice_id, { auto_advance: true });
  } catch (error) {
    if (!isGone(error)) throw error;
  }
  await deps.pool.query("update held_invoices set released_at = $2 where invoice_id = $1", [
    held.invoice_id,
    Math.floor(deps.nowMs() / 1000),
  ]);
  return true;
}

/** Held invoices of all cells, which have their own ledgers; those of a cell longest held first. */
async function* findReleasable(cells: Cells, nowSeconds: number): AsyncGenerator<HeldInvoice> {
  for (const cell of cells.all()) yield* findReleasableOf(cell, nowSeconds);
}

async function* findReleasableOf(cell: Cell, nowSeconds: number): AsyncGenerator<HeldInvoice> {
  const { pool, firstBucket, lastBucket } = cell;
  let last: HeldInvoice | undefined;
  do {
    const { rows } = await pool.query<HeldInvoice>(
      `select
         h.invoice_id,
         h.org_id,
         h.period,
         h.held_at,
         a.customer_id,
         o.billing_status = 'exempt' as is_exempt,
         coalesce(c.waived, 0) as waived,
         coalesce(c.exported, 0) as exported,
         (
           select max(b.settled_at)
           from meter_batches b
           where b.org_id = h.org_id
             and b.period = h.period
         ) as settled_at
       from held_invoices h
       join organizations o on o.id = h.org_id
       join billing_accounts a on a.org_id = h.org_id
       left join meter_counters c on c.org_id = h.org_id and c.period = h.period
       where h.released_at is null
         and h.period < $4
         and h.held_at <= $7
         and get_byte(uuid_send(h.org_id), 15) between $2 and $3
         and (h.held_at, h.invoice_id) > ($5, $6)
       order by h.held_at, h.invoice_id
       limit $1`,
      [
        invoicesPerPage,
        firstBucket,
        lastBucket,
        // Months before this one have ended, and cannot get late items any more.
        periodOf((nowSeconds - settlingSeconds) * 1000),
        last?.held_at ?? 0,
        last?.invoice_id ?? "",
        nowSeconds - holdingSeconds,
      ],
    );
    const accepted = await readAccepted(pool, rows);
    yield* rows.filter(
      ({ is_exempt, waived, exported }, n) => is_exempt || accepted[n]! - waived - exported <= 0,
    );
    last = rows.length < invoicesPerPage ? undefined : rows.at(-1);
  } while (last !== undefined);
}

/** Accepted items of the given organizations and months. Read after the exported items, so that they are never too few. */
async function readAccepted(pool: Cell["pool"], months: readonly HeldInvoice[]): Promise<number[]> {
  const { rows } = await pool.query<{ accepted: number }>(
    `select (
       select coalesce(sum(l.items), 0)::bigint
       from (
         select items from usage_totals where org_id = m.org_id and period = m.period
         union all
         select items from usage_records where org_id = m.org_id and period = m.period
       ) l
     ) as accepted
     from unnest($1::uuid[], $2::integer[]) with ordinality as m (org_id, period, n)
     order by m.n`,
    [months.map((month) => month.org_id), months.map((month) => month.period)],
  );
  return rows.map((row) => row.accepted);
}

async function isCounted(deps: ReleaseDeps, held: HeldInvoice): Promise<boolean> {
  if (held.customer_id === null) return true;
  const nowSeconds = Math.floor(deps.nowMs() / 1000);
  const counted = await readMeterTotal(deps, held.customer_id, held.period, nowSeconds);
  if (counted >= held.exported) return true;
  if (nowSeconds < (held.settled_at ?? 0) + meterLagSeconds) return false;
  deps.log.error(
    { invoice_id: held.invoice_id, org_id: held.org_id, exported: held.exported, counted },
    "an invoice is released although the meter counts less than was confirmed",
  );
  return true;
}

/**
 * Whether the error means that there is no draft left to hold: an operator may have deleted the customer or the draft, or
 * finalized it.
 */
function isGone(error: unknown): boolean {
  return (
    error instanceof stripeLibrary().errors.StripeInvalidRequestError &&
    (error.statusCode === 404 ||
      error.code === "resource_missing" ||
      /finalized|no longer|not editable/i.test(error.message))
  );
}
