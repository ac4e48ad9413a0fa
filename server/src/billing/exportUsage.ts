import type pg from "pg";
import { releaseInvoices } from "./holdInvoices.ts";
import {
  escalateBatch,
  findDueBatches,
  maxAgeSeconds,
  type MeterBatch,
  postponeBatch,
  readProgress,
  renewBatch,
  settleBatch,
} from "./meterBatches.ts";
import { askProcessor, inParallel, type Processor, readMeterTotal, stripeLibrary } from "./processor.ts";
import { writeBatches } from "./writeBatches.ts";
import type { Parts } from "../items/parts.ts";
import { tryLock } from "../postgres/pool.ts";

export interface ExportDeps extends Processor, Pick<Parts, "pool" | "cells" | "log" | "nowMs"> {
  /** Aborted to end the run; batches that are being sent are finished. */
  signal: AbortSignal;
}

export interface ExportCounts {
  written: number;
  exported: number;
  postponed: number;
  escalated: number;
  /** Held invoices that were released. */
  released: number;
}

const advisoryLockKey = 7_281_934_006;
/**
 * Limits of one run. It has several rounds, because a customer's next batch is written only after the previous one is
 * settled. After `failuresInRow` the processor counts as away, and the other batches wait for the next run.
 */
const most = { rounds: 50, batchesPerRound: 200, atOnce: 8, failuresInRow: 8 };
/** Delay of a batch after a failure: exponential backoff. */
const wait = { firstSeconds: 10, maxSeconds: 600 };

/**
 * Exports the ledger's new items to the processor's meter: stores batches, sends them one at a time per customer, and
 * counts confirmed batches as exported. An advisory lock allows one node at a time; on other nodes a call does nothing.
 */
export async function exportUsage(deps: ExportDeps): Promise<ExportCounts> {
  const counts: ExportCounts = { written: 0, exported: 0, postponed: 0, escalated: 0, released: 0 };
  await withSessionLock(deps.pool, advisoryLockKey, async () => {
    await runRounds(deps, counts);
    counts.released = await releaseInvoices(deps);
  });
  return counts;
}

async function runRounds(deps: ExportDeps, counts: ExportCounts): Promise<void> {
  const run = { failuresInRow: 0 };
  for (let round = 0; round < most.rounds && !deps.signal.aborted; round++) {
    const nowSeconds = secondsOf(deps);
    for (const { pool } of deps.cells.all()) counts.written += await writeBatches(pool, nowSeconds);
    const due = await findDueBatches(deps.pool, nowSeconds, most.batchesPerRound);
    if (due.length === 0) return;
    // All workers end before the lock is released, so that no request is still open when another process begins.
    await inParallel(() => work(deps, due, run, counts), most.atOnce);
    if (run.failuresInRow >= most.failuresInRow) return;
  }
}

/** Exports batches from the list until it is empty. The list has at most one batch for each customer. */
async function work(
  deps: ExportDeps,
  due: MeterBatch[],
  run: { failuresInRow: number },
  counts: ExportCounts,
): Promise<void> {
  while (run.failuresInRow < most.failuresInRow && !deps.signal.aborted) {
    const batch = due.pop();
    if (batch === undefined) return;
    const outcome = await exportBatch(deps, batch);
    await record(deps, batch, outcome, counts);
    run.failuresInRow = outcome.kind === "unknown" ? run.failuresInRow + 1 : 0;
  }
}

type BatchOutcome = SendOutcome | { kind: "summary" } | { kind: "stuck"; reason: string };

async function exportBatch(deps: ExportDeps, batch: MeterBatch): Promise<BatchOutcome> {
  const nowSeconds = secondsOf(deps);
  if (nowSeconds >= batch.unsafe_at) {
    const evidence = await consultSummary(deps, batch, nowSeconds);
    if (evidence.kind !== "absent") return evidence;
    await renewBatch(deps.pool, batch.identifier, nowSeconds);
  }
  return isTooOld(batch, nowSeconds) ? { kind: "stuck", reason: tooOld } : sendBatch(deps, batch);
}

const tooOld = "it is more than 35 days old, and the processor does not accept it any more";

function isTooOld(batch: MeterBatch, nowSeconds: number): boolean {
  return batch.event_timestamp <= nowSeconds - maxAgeSeconds;
}

/**
 * Finds out from the meter's total whether a batch was stored, when the processor may have forgotten its identifier. The
 * total contains everything stored more than an hour ago; newer batches are still recognized by their identifiers.
 */
async function consultSummary(
  deps: ExportDeps,
  batch: MeterBatch,
  nowSeconds: number,
): Promise<BatchOutcome | { kind: "absent" }> {
  const { exported, unsettled } = await readProgress(deps.pool, batch);
  const asked = await askProcessor(() => readMeterTotal(deps, batch.customer_id, batch.period, nowSeconds));
  if (asked.outcome !== "answered") {
    const { message } = asked.cause;
    if (asked.outcome === "unavailable") return { kind: "unknown", reason: message };
    // The processor is not away; a deleted customer, for example, never has a summary again.
    return isTooOld(batch, nowSeconds)
      ? { kind: "stuck", reason: `${tooOld}, and its summary is refused: ${message}` }
      : { kind: "refused", reason: message };
  }
  const total = asked.answer;
  if (unsettled === 0 && total === exported) return { kind: "absent" };
  if (unsettled === 0 && total === exported + batch.value) return { kind: "summary" };
  const reason = `after 23 hours without a clear answer the meter counts ${total}, which is neither ${exported} without this batch nor ${exported + batch.value} with it`;
  return { kind: "stuck", reason };
}

async function record(
  deps: ExportDeps,
  batch: MeterBatch,
  outcome: BatchOutcome,
  counts: ExportCounts,
): Promise<void> {
  const { identifier } = batch;
  const nowSeconds = secondsOf(deps);
  switch (outcome.kind) {
    case "confirmed":
    case "duplicate":
    case "summary":
      if (await settleBatch(deps.pool, identifier, outcome.kind, nowSeconds)) counts.exported++;
      return;
    case "refused":
    case "unknown": {
      const delaySeconds = Math.min(wait.firstSeconds * 2 ** Math.min(batch.attempts, 10), wait.maxSeconds);
      await postponeBatch(deps.pool, identifier, nowSeconds + delaySeconds, outcome.reason);
      counts.postponed++;
      const fields = { identifier, outcome: outcome.kind, reason: outcome.reason, retry_in_s: delaySeconds };
      deps.log.warn(fields, "a usage batch was postponed");
      return;
    }
    case "stuck":
      await escalateBatch(deps.pool, identifier, outcome.reason);
      counts.escalated++;
      deps.log.error(
        { identifier, org_id: batch.org_id, value: batch.value, reason: outcome.reason },
        "a usage batch needs an operator: see postrider org show",
      );
  }
}

function secondsOf(deps: ExportDeps): number {
  return Math.floor(deps.nowMs() / 1000);
}

/**
 * The result of sending a batch: the processor has stored it now (`confirmed`) or before (`duplicate`), has refused it,
 * or has given no clear answer (`unknown`).
 */
type SendOutcome =
  | { kind: "confirmed" }
  | { kind: "duplicate" }
  | { kind: "refused"; reason: string }
  | { kind: "unknown"; reason: string };

/** Sends one batch. Failures of the processor and the network are outcomes, not errors. */
async function sendBatch(processor: Processor, batch: MeterBatch): Promise<SendOutcome> {
  try {
    // Sent without an idempotency key, for which the processor would repeat even a failure. The batch's identifier keeps
    // the batch from being counted twice.
    await processor.stripe.billing.meterEvents.create({
      event_name: processor.config.meterEventName,
      identifier: batch.identifier,
      timestamp: batch.event_timestamp,
      payload: { stripe_customer_id: batch.customer_id, value: String(batch.value) },
    });
    return { kind: "confirmed" };
  } catch (error) {
    return classifySendError(error, batch.identifier);
  }
}

/** Maps an error of sending to an outcome. @throws the error itself when it is not the processor's. */
export function classifySendError(error: unknown, identifier: string): SendOutcome {
  if (!(error instanceof stripeLibrary().errors.StripeError)) throw error;
  const { statusCode: status, message } = error;
  if (status === undefined || status >= 500 || status === 409) return { kind: "unknown", reason: message };
  const isDuplicate =
    status === 400 &&
    new RegExp(`already exists with identifier\\W*${identifier}(?![\\w-])`, "i").test(message);
  if (isDuplicate) return { kind: "duplicate" };
  return { kind: "refused", reason: `${status}: ${message}` };
}

/**
 * Runs `work` while this process holds a session-level advisory lock; does nothing when another process holds it. The
 * lock's connection is kept out of the pool during the work, without an open transaction. If it breaks, another process
 * may begin while the work continues; the work must tolerate that.
 */
async function withSessionLock(pool: pg.Pool, key: number, work: () => Promise<void>): Promise<void> {
  const client = await pool.connect();
  let broken: Error | undefined;
  const onError = (error: Error): void => {
    broken = error;
  };
  client.on("error", onError);
  try {
    if (!(await tryLock(client, key, "session"))) return;
    try {
      await work();
    } finally {
      // If this fails, the connection is broken, and its lock has ended with it.
      await client.query("select pg_advisory_unlock($1)", [key]).catch(onError);
    }
  } finally {
    client.off("error", onError);
    client.release(broken);
  }
}
