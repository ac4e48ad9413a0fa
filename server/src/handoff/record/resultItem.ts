import type pg from "pg";
import { bucketOf } from "../../postgres/ids.ts";
import type { TargetKind } from "../../postgres/kinds.ts";
import type { HandoffRecord } from "./handoffStore.ts";
import type { Outcome, TaskView } from "../agent/readTask.ts";

/** The target that receives the end of a task. */
export interface ResultTarget {
  id: string;
  kind: TargetKind;
  maxPayloadBytes: number;
}

export interface ResultItem {
  eventType: string;
  payload: Buffer;
}

/** The result target of the agent behind `targetId`; undefined when there is none. */
export async function readResultTarget(pool: pg.Pool, targetId: string): Promise<ResultTarget | undefined> {
  const { rows } = await pool.query<ResultTarget>({
    name: "read_result_target",
    text: `select t.id, t.kind, t.max_payload_bytes as "maxPayloadBytes"
           from agent_cards c
           join targets t on t.id = c.result_target_id
           where c.target_id = $1`,
    values: [targetId],
  });
  return rows[0];
}

/** The parts of a view that are shown. */
type Shown = Omit<TaskView, "outcome" | "fingerprint">;

/**
 * The end of a task as an item for `target`. Only the service makes such items, and they are never sent to an agent, so that two
 * agents cannot answer each other's results for ever.
 */
export async function resultItem(
  pool: pg.Pool,
  record: Pick<HandoffRecord, "eventId" | "targetId" | "view" | "followError"> & { outcome: Outcome },
  target: ResultTarget,
): Promise<ResultItem> {
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
  const eventType = `handoff.${record.outcome.toLowerCase()}`;
  const result = {
    event_type: eventType,
    event_id: record.eventId,
    target_id: record.targetId,
    correlation_id: known?.correlation_id ?? null,
    source_event_type: known?.event_type ?? null,
    outcome: record.outcome,
    error: record.followError ?? null,
    ...shownView(record.view ?? known),
  };
  return { eventType, payload: fitting(result, target.maxPayloadBytes) };
}

/** A view's fields as the interface names them. */
export function shownView(view: Shown | undefined) {
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

/** JSON text of an array that this service has written. */
function parsed(text: string | null | undefined): unknown[] {
  return typeof text === "string" ? (JSON.parse(text) as unknown[]) : [];
}

/** The result without its largest parts, until it fits the target's limit; the outcome is always in it. */
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
