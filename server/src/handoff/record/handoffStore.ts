import type pg from "pg";
import { callFunction } from "../../postgres/hot/callFunction.ts";
import { withPartitions } from "../../postgres/partitions.ts";
import { bucketOf, newId } from "../../postgres/ids.ts";
import { isPulled, kindNumbers } from "../../postgres/kinds.ts";
import { type Delivery, traceOf } from "../../items/delivery.ts";
import { messaging, type Traces } from "../../telemetry/traces.ts";
import { isInterrupted, type Outcome, type TaskView } from "../agent/readTask.ts";
import { readResultTarget, resultPayload, type ResultTarget } from "./handoffAnswer.ts";
import { itemChange } from "../../items/changes.ts";
import type { TraceContext } from "../../telemetry/traceContext.ts";
import type { Parts } from "../../items/parts.ts";

/** The next step for an item that is due at an agent. */
export type Beginning =
  | { kind: "send" }
  /** A message was sent at this time (Unix milliseconds) and got no answer. */
  | { kind: "unanswered"; sinceMs: number }
  | { kind: "accepted" }
  | { kind: "stale" };

/** Records that a message is about to be sent; called before it is sent. */
export async function beginHandoff(
  pool: pg.Pool,
  { rowId, eventId, leaseToken }: Pick<Delivery, "rowId" | "eventId" | "leaseToken">,
): Promise<Beginning> {
  const rows = await withPartitions(pool, () =>
    callFunction(pool, "begin_handoff", {
      p_row_id: rowId,
      p_event_id: eventId,
      p_lease_token: leaseToken,
    }),
  );
  const { code, unanswered_since: sinceMs } = rows[0]!;
  switch (code) {
    case "s":
      return { kind: "send" };
    case "u":
      return { kind: "unanswered", sinceMs: sinceMs! };
    case "a":
      return { kind: "accepted" };
    case "l":
      return { kind: "stale" };
    case null:
    default:
      throw new Error(`begin_handoff gave ${code}`);
  }
}

/**
 * Records that the agent certainly did not receive the message, so that it may be sent again; only for the holder of the lease,
 * because another process may have sent the message since.
 */
export async function noteNothingSent(
  pool: pg.Pool,
  { rowId, eventId, leaseToken }: Pick<Delivery, "rowId" | "eventId" | "leaseToken">,
): Promise<void> {
  await pool.query({
    name: "note_nothing_sent",
    text: `update handoffs
           set unanswered_since = null
           where bucket = $1
             and event_id = $2
             and unanswered_since is not null
             and exists (
               select
               from deliveries d
               where d.bucket = $1
                 and d.id = $3
                 and d.lease_token = $4
             )`,
    values: [bucketOf(eventId), eventId, rowId, leaseToken],
  });
}

/** Records that a message is sent again although an earlier one may have created a task. */
export async function notePossibleDuplicate(pool: pg.Pool, eventId: string): Promise<void> {
  await pool.query({
    name: "note_possible_duplicate",
    text: `update handoffs
           set possible_duplicate = true
           where bucket = $1
             and event_id = $2
             and not possible_duplicate`,
    values: [bucketOf(eventId), eventId],
  });
}

export interface RecordDeps extends Pick<
  Parts,
  "pool" | "direct" | "nowMs" | "changes" | "traces" | "onDue" | "onMailboxItems"
> {
  /** How long an unchanged task is followed, in milliseconds. */
  quietMs: number;
}

export interface HandoffRecord {
  eventId: string;
  targetId: string;
  /** Whether the agent has just accepted the item; only the first acceptance counts. */
  isAcceptance?: boolean;
  /** The lease token of the poll that read the task. */
  leaseToken?: number | null;
  /** Null if the task has no new state. */
  view: TaskView | null;
  /** Why the task is no longer followed; its outcome is then UNKNOWN. */
  followError?: string;
}

export type RecordOutcome = "recorded" | "accepted before" | "ended before" | "stale" | "gone";

const outcomes = { r: "recorded", a: "accepted before", e: "ended before", l: "stale", n: "gone" } as const;
const maxTries = 5;

/** Records the state of a task. The end of a task is recorded once, together with the item that carries the result. */
export async function recordHandoff(deps: RecordDeps, record: HandoffRecord): Promise<RecordOutcome> {
  for (let tries = 1; ; tries++) {
    const outcome = outcomeOf(record);
    const target = outcome === null ? undefined : await readResultTarget(deps.pool, record.targetId, outcome);
    const code = await recordOnce(deps, record, target);
    if (code === "t") {
      if (tries === maxTries) throw new Error("the target of results changes faster than a result is stored");
      continue;
    }
    if (code === "r" && deps.changes.isWatched()) {
      const data = { event_id: record.eventId, target_id: record.targetId };
      deps.changes.publish(record.targetId, { type: "handoff", data });
    }
    if (code === "r" && outcome !== null && deps.traces !== undefined) {
      await traceEnd(deps.pool, deps.traces, { ...record, outcome });
    }
    if (code === "r" && target !== undefined) await dispatchResult(deps, record.eventId, target);
    return outcomes[code];
  }
}

function outcomeOf({ view, followError }: HandoffRecord): Outcome | null {
  return followError === undefined ? (view?.outcome ?? null) : "UNKNOWN";
}

async function recordOnce(
  deps: RecordDeps,
  record: HandoffRecord,
  target: ResultTarget | undefined,
): Promise<keyof typeof outcomes | "t"> {
  const { view, eventId } = record;
  const outcome = outcomeOf(record);
  const state = view?.state ?? null;
  const payload =
    target === undefined ? null : await resultPayload(deps.pool, { ...record, outcome: outcome! }, target);
  // Storing a result locks the row of its target, and every server has a copy of that row.
  const pool = target === undefined ? deps.direct : deps.pool;
  const rows = await withPartitions(pool, () =>
    callFunction(pool, "record_handoff", {
      p_event_id: eventId,
      p_is_acceptance: record.isAcceptance ?? false,
      p_lease_token: record.leaseToken ?? null,
      p_task_id: view?.taskId ?? null,
      p_context_id: view?.contextId ?? null,
      p_state: state,
      p_status_message: view?.statusMessage ?? null,
      p_status_parts: view?.statusParts ?? null,
      p_artifacts: view?.artifacts ?? null,
      p_is_truncated: view?.isTruncated ?? false,
      p_fingerprint: view?.fingerprint ?? null,
      p_follow_error: record.followError ?? null,
      p_outcome: outcome,
      p_poll_in_ms: firstPollMs(state),
      p_deadline_in_ms: deadlineMs(state, deps.quietMs),
      p_result_target: target?.id ?? null,
      p_result_id: target === undefined ? null : newId(bucketOf(target.id), deps.nowMs()),
      p_result_type: target?.eventType ?? null,
      p_result_payload: payload,
    }),
  );
  return rows[0]!.record_handoff as keyof typeof outcomes | "t";
}

/** Starts the delivery of the item with a task's result, and reports it to event streams. */
async function dispatchResult(
  deps: RecordDeps,
  eventId: string,
  { id: targetId, kind, eventType, isTypeListed }: ResultTarget,
): Promise<void> {
  const isMailbox = isPulled(kindNumbers[kind]);
  if (isMailbox) deps.onMailboxItems([targetId]);
  else deps.onDue();
  if (!deps.changes.isWatched()) return;
  const { rows } = await deps.direct.query<{ id: string | null }>({
    name: "read_result_id",
    text: `select result_event_id as id
           from handoffs
           where bucket = $1
             and event_id = $2`,
    values: [bucketOf(eventId), eventId],
  });
  const id = rows[0]?.id ?? null;
  if (id === null) return;
  const status = isMailbox ? "UNREAD" : isTypeListed ? "QUEUED" : "FILTERED";
  deps.changes.publish(targetId, itemChange({ id, targetId, eventType, status }));
}

interface Row {
  trace_context: TraceContext;
  source_event_id: string | null;
  accepted_at: number;
}

/** Adds a span to an item's trace: how long its agent worked on it, and the outcome. The promise never rejects. */
async function traceEnd(
  pool: pg.Pool,
  traces: Traces,
  { eventId, targetId, outcome }: HandoffRecord & { outcome: Outcome },
): Promise<void> {
  const found = await pool
    .query<Row>({
      name: "find_handoffs_trace",
      text: `select e.trace_context, e.source_event_id, h.accepted_at
             from events e
             join handoffs h on h.bucket = e.bucket and h.event_id = e.id
             where e.bucket = $1
               and e.target_id = $2
               and e.id = $3
               and e.trace_context is not null`,
      values: [bucketOf(eventId), targetId, eventId],
    })
    .catch(() => undefined);
  const row = found?.rows[0];
  if (row === undefined) return;
  const span = traces.start({
    name: "follow task",
    kind: "internal",
    ...traceOf({ eventId, sourceEventId: row.source_event_id }, row.trace_context),
    attributes: {
      ...messaging,
      "messaging.message.id": eventId,
      "messaging.destination.name": targetId,
      "postrider.handoff.outcome": outcome,
    },
    startMs: row.accepted_at,
  });
  span?.end({ attributes: {}, error: outcome === "COMPLETED" ? undefined : outcome });
}

const firstMs = 1_000;
const maxMs = 60_000;
const growth = 1.6;
const jitter = 0.1;
/** A task that waits for its client's input is followed this many times as long. */
const interruptedFactor = 7;

/** Milliseconds until the next poll of a task that was just read in `state`. */
export function firstPollMs(state: string | null): number {
  return isInterrupted(state) ? maxMs : firstMs;
}

/**
 * Whole milliseconds until the next poll of a task that did not change in `polls` polls: from one second to one minute, ±10 %
 * jitter, so that tasks that began together are not polled together.
 * @param random ≥ 0 and < 1.
 */
export function nextPollMs(state: string | null, polls: number, random: number): number {
  const plainMs = isInterrupted(state) ? maxMs : Math.min(firstMs * growth ** Math.min(polls, 20), maxMs);
  return Math.round(plainMs * (1 - jitter + 2 * jitter * random));
}

/** How long from now an unchanged task is followed, in milliseconds. */
export function deadlineMs(state: string | null, quietMs: number): number {
  return isInterrupted(state) ? quietMs * interruptedFactor : quietMs;
}
