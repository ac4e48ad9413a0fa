import type { Attempt, ItemEvent } from "../api/shapes.ts";
import { Card, Facts } from "../controls/Card.tsx";

/** The headers of a webhook item's last attempt. */
export function SentHeaders({ event, attempts }: { event: ItemEvent; attempts: readonly Attempt[] }) {
  return (
    <Card title="Request headers">
      <div className="text-meta">
        <Facts
          facts={sentHeaders(event, attempts).map(([name, value]) => [name, <code key={name}>{value}</code>])}
        />
      </div>
    </Card>
  );
}

/**
 * The headers of the last attempt of a webhook item. Each attempt has its own signature, which is not stored; the service
 * masks secret values.
 */
function sentHeaders(event: ItemEvent, attempts: readonly Attempt[]): readonly (readonly [string, string])[] {
  const last = attempts.at(-1);
  return [
    ["content-type", "application/json"],
    ["webhook-id", event.webhook_id],
    ["x-event-id", event.id],
    ...(last === undefined ? [] : [["webhook-timestamp", String(last.attempted_at)] as const]),
    ["webhook-signature", "v1,… (computed for each attempt, not stored)"],
    ...(event.source_event_id === null ? [] : [["x-source-event-id", event.source_event_id] as const]),
    ...(!event.event_type ? [] : [["x-event-type", event.event_type] as const]),
    ...Object.entries(last?.request_headers ?? {}),
    ...(event.correlation_id === null ? [] : [["x-correlation-id", event.correlation_id] as const]),
  ];
}
