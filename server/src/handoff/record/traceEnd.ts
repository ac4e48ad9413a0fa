import type pg from "pg";
import { traceOf } from "../../items/traceOf.ts";
import { bucketOf } from "../../postgres/ids.ts";
import type { TraceContext } from "../../telemetry/traceContext.ts";
import { messaging, type Traces } from "../../telemetry/traces.ts";
import type { HandoffRecord } from "./handoffStore.ts";

interface Row {
  trace_context: TraceContext;
  source_event_id: string | null;
  accepted_at: number;
}

/** Notes, in an item's trace, how long its agent worked on it and with which outcome. Never rejects. */
export async function traceEnd(pool: pg.Pool, traces: Traces, record: HandoffRecord): Promise<void> {
  const { eventId, targetId, outcome } = record;
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
      "postrider.handoff.outcome": outcome ?? "UNKNOWN",
    },
    startMs: row.accepted_at,
  });
  const isGood = outcome === "COMPLETED";
  span?.end({ attributes: {}, error: isGood ? undefined : (outcome ?? "UNKNOWN") });
}
