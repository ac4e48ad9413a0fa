import { type AttemptResult, notSent } from "../../../items/delivery.ts";
import { sign } from "../../../items/signature.ts";
import type { OutboundRequest } from "../../../outbound/outbound.ts";
import type { SendDeps, Sender } from "../../record/sender.ts";
import { classify } from "./classify.ts";
import { maskSecrets } from "./maskSecrets.ts";

/** Bytes of a receiver's answer that are read, and those of them that are kept on the attempt. */
const bodyLimitBytes = 16 * 1024;
const keptBodyBytes = 1024;

/**
 * Sends signed deliveries (Standard Webhooks): the payload's bytes as received, under the event's `webhook-id`. The answer is
 * masked, classified, and cut to what an attempt keeps of it.
 */
export function webhookSender({ outbound, timeoutMs, nowMs }: SendDeps): Sender {
  return (delivery, target, ended) => {
    const { signing, headers: own } = target;
    if ("fault" in signing) return endUnsent(signing.fault, ended);
    if (own !== null && "fault" in own) return endUnsent(own.fault, ended);
    // A replay repeats an event, and a receiver that deduplicates as Standard Webhooks advises applies it once.
    const webhookId = delivery.webhookId ?? delivery.eventId;
    const timestampSeconds = Math.floor(nowMs() / 1000);
    const headers = [
      "content-type",
      "application/json",
      "webhook-id",
      webhookId,
      "webhook-timestamp",
      String(timestampSeconds),
      "webhook-signature",
      sign(signing.keys, webhookId, timestampSeconds, delivery.payload),
      "x-event-id",
      delivery.eventId,
    ];
    if (delivery.eventType !== null) headers.push("x-event-type", delivery.eventType);
    if (delivery.correlationId !== null) headers.push("x-correlation-id", delivery.correlationId);
    if (delivery.sourceEventId !== null) headers.push("x-source-event-id", delivery.sourceEventId);
    if (delivery.span !== null) headers.push("traceparent", delivery.span.traceparent);
    if (own !== null) headers.push(...own.pairs);
    const request: OutboundRequest = {
      method: "POST",
      url: target.url,
      headers,
      ...(own !== null && { secretNames: own.secretNames }),
      body: delivery.payload,
      timeoutMs,
      bodyLimitBytes,
    };
    outbound.send(request, (answer) => {
      const result = own === null ? answer : maskSecrets(answer, own.secretValues);
      const answered = result.kind === "response";
      ended({
        outcome: classify(result),
        statusCode: answered ? result.status : 0,
        durationMs: result.durationMs,
        responseBody: answered && result.body.length > 0 ? result.body.subarray(0, keptBodyBytes) : null,
        retryAfter: (answered && result.headers["retry-after"]) || null,
      });
    });
  };
}

function endUnsent(fault: string, ended: (result: AttemptResult) => void): void {
  queueMicrotask(() => ended(notSent(fault)));
}
