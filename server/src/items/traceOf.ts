import type { Delivery } from "./delivery.ts";
import { contextOfEvent, type TraceContext } from "../telemetry/traceContext.ts";

/** Where the spans of a delivery go on, and what they have to do with besides. */
interface DeliveryTrace {
  parent: TraceContext;
  links: TraceContext[];
}

/** A replay has a trace of its own, which all nodes derive from its event's id, and points to that of its source. */
export function traceOf(
  { eventId, sourceEventId }: Pick<Delivery, "eventId" | "sourceEventId">,
  context: TraceContext,
): DeliveryTrace {
  return sourceEventId === null
    ? { parent: context, links: [] }
    : { parent: contextOfEvent(eventId), links: [context] };
}
