import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { newId } from "../../postgres/ids.ts";
import { parseTraceparent } from "../../telemetry/traceContext.ts";
import { claimedMessageText } from "./message.ts";

const text = fc.option(fc.string({ unit: "grapheme" }));

describe("a claimed message as JSON text", () => {
  it("equals JSON.stringify of its parts, for any texts and payloads", () => {
    fc.assert(
      fc.property(fc.tuple(text, text, text), fc.jsonValue(), fc.nat(), (texts, payload, count) => {
        const [eventType, correlationId, orderingKey] = texts;
        const id = newId(7, 1_790_000_000_123);
        const written = claimedMessageText(
          {
            id,
            mailboxId: id,
            claimedBy: id,
            claimToken: id,
            claimCount: count,
            leaseUntilMs: 1_790_000_300_999,
            orderingKey,
            traceContext: null,
            eventType,
            correlationId,
            payload: JSON.stringify(payload),
          },
          604_800_000,
        );
        expect(JSON.parse(written)).toEqual({
          id,
          mailbox_id: id,
          status: "CLAIMED",
          event_type: eventType,
          correlation_id: correlationId,
          ordering_key: orderingKey,
          claimed_by: id,
          claim_expires_at: 1_790_000_300,
          claim_count: count,
          created_at: 1_790_000_000,
          expires_at: 1_790_604_800,
          acknowledged_at: null,
          dead_reason: null,
          claim_token: id,
          payload: JSON.parse(JSON.stringify(payload)),
        });
      }),
    );
  });

  it("has the trace context, when the message is traced", () => {
    const id = newId(7, 1_790_000_000_123);
    const claim = { id, mailboxId: id, claimedBy: id, claimToken: id, claimCount: 1, leaseUntilMs: 1 };
    const text = { orderingKey: null, eventType: null, correlationId: null, payload: "{}" };
    const header = `00-${id}-0718293a4b5c6d7e-01`;
    const traceContext = parseTraceparent(header);
    expect(JSON.parse(claimedMessageText({ ...claim, ...text, traceContext }, 5_000))).toMatchObject({
      traceparent: header,
    });
  });

  it("never has a claim that ends after the message expires", () => {
    const id = newId(0, 1_000_000);
    const claim = {
      id,
      mailboxId: id,
      claimedBy: id,
      claimToken: id,
      claimCount: 1,
      leaseUntilMs: 9_000_000,
      orderingKey: null,
      traceContext: null,
      eventType: null,
      correlationId: null,
      payload: "{}",
    };
    expect(JSON.parse(claimedMessageText(claim, 5_000_000))).toMatchObject({
      claim_expires_at: 6_000,
      expires_at: 6_000,
    });
  });
});
