import { describe, expect, it } from "vitest";
import { z } from "zod";
import type { AcceptedItem } from "./operations.generated.ts";
import { SchemaError } from "./standardSchema.ts";
import { defineEvents } from "./typedEvents.ts";

interface Orders {
  "order.created": { order: number };
  "order.paid": { order: number; cents: number };
}

const checked = defineEvents({
  "order.created": z.object({ order: z.number() }),
  "order.paid": z.object({ order: z.number(), cents: z.coerce.number() }),
});

/** A client that records the items instead of sending them. */
function createSink(): { sent: unknown[]; sendItem: (...inputs: unknown[]) => Promise<AcceptedItem> } {
  const sent: unknown[] = [];
  return {
    sent,
    async sendItem(...inputs) {
      sent.push(inputs);
      return { id: "1", status: "QUEUED" };
    },
  };
}

describe("typed events", () => {
  it("are sent with their type, and not sent when the payload violates the schema", async () => {
    const sink = createSink();
    const payload = { order: 1, cents: 300 };
    await checked.send(sink, "t", { type: "order.paid", payload, correlationId: "c" });
    await defineEvents<Orders>(["order.created"]).send(sink, "t", {
      type: "order.created",
      payload: { order: 2 },
    });
    const wrong = { type: "order.created", payload: { order: "one" as never } } as const;
    await expect(checked.send(sink, "t", wrong)).rejects.toThrow(SchemaError);
    const unknown = { type: "order.lost" as never, payload: {} as never };
    await expect(checked.send(sink, "t", unknown)).rejects.toThrow('event type "order.lost" is not defined');
    expect(sink.sent).toEqual([
      ["t", payload, { eventType: "order.paid", correlationId: "c" }],
      ["t", { order: 2 }, { eventType: "order.created" }],
    ]);
  });

  it("are read with the schema's output as payload; unknown types are read as undefined", async () => {
    const event = await checked.read({ eventType: "order.paid", payload: { order: 1, cents: "300" } });
    // Compiles only if the type of the event narrows the type of its payload.
    expect(event?.type === "order.paid" && event.payload.cents + 1).toBe(301);
    expect(await checked.read({ eventType: "order.lost", payload: {} })).toBeUndefined();
    expect(await checked.read({ eventType: null, payload: {} })).toBeUndefined();
    await expect(checked.read({ eventType: "order.created", payload: {} })).rejects.toThrow(/order: /);
    const plain = defineEvents<Orders>(["order.created", "order.paid"]);
    expect(await plain.read({ eventType: "order.created", payload: { order: 2 } })).toEqual({
      type: "order.created",
      payload: { order: 2 },
    });
  });
});
