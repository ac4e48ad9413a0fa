import { describe, expect, it } from "vitest";
import { contextOfEvent, parseTraceparent, traceparentOf } from "./traceContext.ts";

const traceId = "0af7651916cd43dd8448eb211c80319c";
const spanId = "b7ad6b7169203331";
const header = `00-${traceId}-${spanId}-01`;

describe("a traceparent", () => {
  it("is stored in 25 bytes and gives the same header again", () => {
    const context = parseTraceparent(header)!;
    expect(context).toHaveLength(25);
    expect(traceparentOf(context)).toBe(header);
  });

  it("may have a later version with additional fields", () => {
    expect(traceparentOf(parseTraceparent(`01-${traceId}-${spanId}-01-more`)!)).toBe(header);
  });

  it.each([
    undefined,
    "",
    [header, header],
    `ff-${traceId}-${spanId}-01`,
    `00-${traceId}-${spanId}-01-more`,
    `00-${"0".repeat(32)}-${spanId}-01`,
    `00-${traceId}-${"0".repeat(16)}-01`,
    `00-${traceId.toUpperCase()}-${spanId}-01`,
    `${header}\r\nx: y`,
    `00-${traceId}-${spanId}`,
  ])("is passed over when it is malformed: %j", (value) => {
    expect(parseTraceparent(value)).toBeNull();
  });

  it("of an event is derived from its id alone", () => {
    const eventId = "0199a1b2c3d4e5f60718293a4b5c6d7e";
    expect(traceparentOf(contextOfEvent(eventId))).toBe(`00-${eventId}-0718293a4b5c6d7e-01`);
  });
});
