import { sql } from "kysely";
import { type Static, Type } from "typebox";
import { bucketOf } from "../../postgres/ids.ts";
import type { HandoffRow, Queries } from "../../postgres/tables.ts";
import { described, NullableString, nullableString, Timestamp } from "../../http/contract/schemas.ts";
import type pg from "pg";
import { isHandoff, type KindNumber, type TargetKind } from "../../postgres/kinds.ts";
import type { HandoffRecord } from "./handoffStore.ts";
import type { Outcome, TaskView } from "../agent/readTask.ts";

const Parts = Type.Array(Type.Unknown());

/** An agent's work on an item as the HTTP interface shows it. Whether the item was handed over is part of the event's status. */
export const Handoff = Type.Object(
  {
    task_id: nullableString("Null when the agent answered with a message instead of a task"),
    context_id: NullableString,
    state: nullableString("The task's state that the agent last reported, such as WORKING or INPUT_REQUIRED"),
    status_message: nullableString("The text of the agent's message: its status message, or its answer"),
    status_parts: described(Parts, "All parts of that message"),
    artifacts: described(Parts, "The task's artifacts, at most 64 KiB"),
    artifacts_truncated: Type.Boolean({ description: "Parts were left out because of their size" }),
    outcome: nullableString(
      "COMPLETED, FAILED, CANCELED, REJECTED; UNKNOWN when the task can no longer be followed; null before its end",
    ),
    error: nullableString("Why the task cannot be followed at the moment, or why its outcome is unknown"),
    possible_duplicate: Type.Boolean({
      description:
        "The message was sent again although it was unknown whether the first one had created a task",
    }),
    accepted_at: Timestamp,
    updated_at: Timestamp,
  },
  { title: "Handoff" },
);

export type HandoffAnswer = Static<typeof Handoff>;

const { task_id, state, status_message, outcome, possible_duplicate, updated_at } = Handoff.properties;

/** The parts of a handoff that lists show. */
export const HandoffSummary = Type.Object(
  { task_id, state, status_message, outcome, possible_duplicate, updated_at },
  { title: "HandoffSummary" },
);

export type HandoffSummary = Static<typeof HandoffSummary>;

/** The handoffs of these events that the agents have accepted, by event id. */
export async function readHandoffs(
  queries: Queries,
  orgId: string,
  events: readonly { id: string; kind: KindNumber }[],
): Promise<Map<string, HandoffSummary>> {
  const ids = events.filter(({ kind }) => isHandoff(kind)).map(({ id }) => id);
  if (ids.length === 0) return new Map();
  // By the whole key of each: `any` of the buckets and of the ids would search each bucket for each id.
  const { rows } = await sql<HandoffSummary & { id: string }>`
    select
      h.event_id as id,
      h.task_id,
      h.state,
      h.status_message,
      h.outcome,
      h.possible_duplicate,
      h.updated_at / 1000 as updated_at
    from unnest(${ids}::uuid[], ${ids.map(bucketOf)}::smallint[]) as e (id, bucket)
    join handoffs h on h.bucket = e.bucket and h.event_id = e.id
    where h.org_id = ${orgId}
      and h.accepted_at is not null
  `.execute(queries);
  return new Map(rows.map(({ id, ...summary }) => [id, summary]));
}

/** Reads a stored handoff, accepted or not; undefined for other organizations' events and before the first attempt. */
export async function readHandoff(
  queries: Queries,
  orgId: string,
  eventId: string,
): Promise<HandoffRow | undefined> {
  return queries
    .selectFrom("handoffs")
    .selectAll()
    .where("bucket", "=", bucketOf(eventId))
    .where("event_id", "=", eventId)
    .where("org_id", "=", orgId)
    .executeTakeFirst();
}

/** A handoff in the form of the HTTP interface; null before the agent has accepted it. */
export function handoffAnswer(row: HandoffRow | undefined): HandoffAnswer | null {
  if (row === undefined || row.accepted_at === null) return null;
  return {
    ...shownView({
      taskId: row.task_id,
      contextId: row.context_id,
      state: row.state,
      statusMessage: row.status_message,
      statusParts: row.status_parts,
      artifacts: row.artifacts,
      isTruncated: row.is_truncated,
    }),
    outcome: row.outcome,
    error: row.follow_error,
    possible_duplicate: row.possible_duplicate,
    accepted_at: Math.floor(row.accepted_at / 1000),
    updated_at: Math.floor(row.updated_at / 1000),
  };
}

/** The target that receives the result of a task. */
export interface ResultTarget {
  id: string;
  kind: TargetKind;
  maxPayloadBytes: number;
  /** The event type of the result's item; `isTypeListed` is whether the target's event types include it. */
  eventType: string;
  isTypeListed: boolean;
}

/** Reads the result target of the agent behind `targetId` for a task with this outcome; undefined if there is none. */
export async function readResultTarget(
  pool: pg.Pool,
  targetId: string,
  outcome: Outcome,
): Promise<ResultTarget | undefined> {
  const eventType = `handoff.${outcome.toLowerCase()}`;
  const { rows } = await pool.query<ResultTarget>({
    name: "read_result_target",
    text: `select t.id, t.kind, t.max_payload_bytes as "maxPayloadBytes", $2::text as "eventType",
             matches_event_types(t.event_types, $2::text) as "isTypeListed"
           from agent_cards c
           join targets t on t.id = c.result_target_id
           where c.target_id = $1`,
    values: [targetId, eventType],
  });
  return rows[0];
}

type Shown = Omit<TaskView, "outcome" | "fingerprint">;

/**
 * The result of a task as the payload of an item for `target`. Only the service creates such items, and they are never sent to
 * an agent, so that two agents cannot answer each other's results forever.
 */
export async function resultPayload(
  pool: pg.Pool,
  record: Pick<HandoffRecord, "eventId" | "targetId" | "view" | "followError"> & { outcome: Outcome },
  target: ResultTarget,
): Promise<Buffer> {
  const { rows } = await pool.query<Shown & { correlation_id: string | null; event_type: string | null }>({
    name: "read_result",
    text: `select e.correlation_id, e.event_type, h.task_id as "taskId", h.context_id as "contextId", h.state,
             h.status_message as "statusMessage", h.status_parts as "statusParts", h.artifacts,
             h.is_truncated as "isTruncated"
           from handoffs h
           left join events e on e.bucket = h.bucket and e.target_id = h.target_id and e.id = h.event_id
           where h.bucket = $1
             and h.event_id = $2`,
    values: [bucketOf(record.eventId), record.eventId],
  });
  const known = rows[0];
  const result = {
    event_type: target.eventType,
    event_id: record.eventId,
    target_id: record.targetId,
    correlation_id: known?.correlation_id ?? null,
    source_event_type: known?.event_type ?? null,
    outcome: record.outcome,
    error: record.followError ?? null,
    ...shownView(record.view ?? known),
  };
  return fitting(result, target.maxPayloadBytes);
}

/** A view's fields with the names of the HTTP interface. */
function shownView(view: Shown | undefined) {
  return {
    task_id: view?.taskId ?? null,
    context_id: view?.contextId ?? null,
    state: view?.state ?? null,
    status_message: view?.statusMessage ?? null,
    status_parts: parsed(view?.statusParts),
    artifacts: parsed(view?.artifacts),
    artifacts_truncated: view?.isTruncated ?? false,
  };
}

/** Parses the JSON text of an array that this service has written. */
function parsed(text: string | null | undefined): unknown[] {
  return typeof text === "string" ? (JSON.parse(text) as unknown[]) : [];
}

/** Leaves out the largest parts of the result until it fits the target's limit; the outcome always remains. */
function fitting(result: ReturnType<typeof shownView> & object, limitBytes: number): Buffer {
  const reductions = [
    {},
    { artifacts: [], artifacts_truncated: true },
    { artifacts: [], status_parts: [], artifacts_truncated: true },
    { artifacts: [], status_parts: [], status_message: null, artifacts_truncated: true },
  ];
  const sizes = reductions.map((reduction) => Buffer.from(JSON.stringify({ ...result, ...reduction })));
  return sizes.find((payload) => payload.length <= limitBytes) ?? sizes.at(-1)!;
}
