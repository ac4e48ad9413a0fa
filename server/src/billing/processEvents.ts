import type { Stripe } from "stripe";
import { holdInvoice } from "./holdInvoices.ts";
import { inParallel } from "./processor.ts";
import { syncSubscription } from "./syncSubscription.ts";
import type { Parts } from "../items/parts.ts";

export interface ProcessDeps extends Pick<Parts, "pool" | "cells" | "log" | "nowMs"> {
  stripe: Stripe;
  /** Aborted to end the run after the notice that is being processed. */
  signal: AbortSignal;
}

interface DueEvent {
  id: string;
  type: string;
  customer_id: string;
  object_id: string;
  attempts: number;
}

/** Limits of one run; after `failures` the processor counts as away, and the other notices wait for the next run. */
const most = { events: 200, failures: 5 };
/** Delay of a notice after a failure: exponential backoff. */
const wait = { firstSeconds: 5, maxSeconds: 300 };
const keptSeconds = 60 * 86_400;

/**
 * Processes the stored notices of the payment processor, including those that a crashed process left. Processing is
 * idempotent, so several processes may run this at once.
 */
export async function processEvents(deps: ProcessDeps): Promise<{ processed: number; failed: number }> {
  const counts = { processed: 0, failed: 0 };
  // One notice of a customer at a time, because concurrent readings of a customer exclude each other.
  const due = [...Map.groupBy(await findDue(deps), (event) => event.customer_id).values()].reverse();
  await inParallel(async () => {
    for (const event of takeInTurn(due)) {
      if (deps.signal.aborted || counts.failed >= most.failures) return;
      try {
        await processEvent(deps, event);
        await markProcessed(deps, event);
        counts.processed++;
      } catch (error) {
        counts.failed++;
        await postpone(deps, event, error as Error);
      }
    }
  });
  await forgetOld(deps);
  return counts;
}

/** The notices of the last customer of the list, then those of the next; removes each customer from the list. */
function* takeInTurn(due: DueEvent[][]): Generator<DueEvent> {
  for (let events = due.pop(); events !== undefined; events = due.pop()) yield* events;
}

async function processEvent(deps: ProcessDeps, event: DueEvent): Promise<void> {
  if (event.type === "invoice.created") {
    await holdInvoice(deps, event.customer_id, event.object_id);
    return;
  }
  await syncSubscription(deps, event.customer_id, `stripe ${event.id}`);
}

async function findDue({ pool, nowMs }: ProcessDeps): Promise<DueEvent[]> {
  const { rows } = await pool.query<DueEvent>(
    `select id, type, customer_id, object_id, attempts
     from billing_events
     where processed_at is null
       and due_at <= $1
     order by due_at, id
     limit $2`,
    [Math.floor(nowMs() / 1000), most.events],
  );
  return rows;
}

async function markProcessed({ pool, nowMs }: ProcessDeps, event: DueEvent): Promise<void> {
  await pool.query(
    `update billing_events
     set processed_at = $2,
       attempts = attempts + 1,
       last_error = null
     where id = $1`,
    [event.id, Math.floor(nowMs() / 1000)],
  );
}

async function postpone({ pool, log, nowMs }: ProcessDeps, event: DueEvent, error: Error): Promise<void> {
  const delaySeconds = Math.min(wait.firstSeconds * 2 ** event.attempts, wait.maxSeconds);
  log.warn(
    { event_id: event.id, type: event.type, retry_in_s: delaySeconds, err: error },
    "a billing event was postponed",
  );
  await pool.query(
    `update billing_events
     set due_at = $2,
       attempts = attempts + 1,
       last_error = $3
     where id = $1
       and processed_at is null`,
    [event.id, Math.floor(nowMs() / 1000) + delaySeconds, error.message.slice(0, 500)],
  );
}

async function forgetOld({ pool, nowMs }: ProcessDeps): Promise<void> {
  // Uses the earlier of this process's and the database's clock.
  await pool.query(
    `delete from billing_events
     where processed_at < least($1::bigint, floor(extract(epoch from clock_timestamp()))::bigint) - $2`,
    [Math.floor(nowMs() / 1000), keptSeconds],
  );
}
