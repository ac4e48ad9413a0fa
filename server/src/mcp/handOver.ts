import { randomUUID } from "node:crypto";
import { type Static, Type } from "typebox";
import { EventTypeName, Name } from "./schemas.ts";
import { call, type ToolContext } from "./tool.ts";

/** Options of sending an item, to a target or to all of a customer. */
export const itemFields = {
  payload: Type.Unknown({ description: "Any JSON" }),
  event_type: Type.Optional(EventTypeName("What kind of event it is, such as order.created")),
  correlation_id: Type.Optional(Name("Joins items that belong together")),
  ordering_key: Type.Optional(Name("In a mailbox: items with the same key are read in order")),
};

const Item = Type.Object({ ...itemFields, idempotency_key: Type.Optional(Type.String()) });

/** Hands an item over to the path that takes it. Without a key of its own it has one that only this call knows. */
export function handOver<T>(context: ToolContext, path: string, item: Static<typeof Item>): Promise<T> {
  return call<T>(context, {
    method: "POST",
    path,
    headers: {
      "idempotency-key": item.idempotency_key ?? randomUUID(),
      "x-event-type": item.event_type,
      "x-correlation-id": item.correlation_id,
      "x-ordering-key": item.ordering_key,
    },
    body: item.payload,
  });
}
