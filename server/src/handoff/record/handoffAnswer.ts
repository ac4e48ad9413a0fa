import { type Static, Type } from "typebox";
import { bucketOf } from "../../postgres/ids.ts";
import type { HandoffRow, Queries } from "../../postgres/tables.ts";
import { described, NullableString, nullableString, Timestamp } from "../../http/contract/schemas.ts";
import { shownView } from "./resultItem.ts";

const Parts = Type.Array(Type.Unknown());

/** The agent's work on an item, as its owner reads it. Whether the item was handed over is a part of the event's status. */
export const Handoff = Type.Object(
  {
    task_id: nullableString("Null when the agent answered with a message in place of a task"),
    context_id: NullableString,
    state: nullableString("The task's state as the agent last said, such as WORKING or INPUT_REQUIRED"),
    status_message: nullableString("The text of the agent's message: about its state, or its answer"),
    status_parts: described(Parts, "All parts of that message"),
    artifacts: described(Parts, "What the task has made; at most 64 KiB of it"),
    artifacts_truncated: Type.Boolean({ description: "Parts were left out because of their size" }),
    outcome: nullableString(
      "COMPLETED, FAILED, CANCELED, REJECTED; UNKNOWN when the task cannot be followed any more; null before its end",
    ),
    error: nullableString("What keeps the task from being followed, or why its outcome is unknown"),
    possible_duplicate: Type.Boolean({
      description: "The message was sent again although it could not be known whether a task had been made",
    }),
    accepted_at: Timestamp,
    updated_at: Timestamp,
  },
  { title: "Handoff" },
);

export type HandoffAnswer = Static<typeof Handoff>;

/** A handoff as it is stored, accepted or not; undefined for other organizations' and before the first attempt. */
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

/** A handoff as the interface shows it; null before the agent has accepted it. */
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
