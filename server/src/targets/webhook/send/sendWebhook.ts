import { type AttemptResult, notSent } from "../../../items/delivery.ts";
import { sign } from "../../../items/signature.ts";
import type { OutboundRequest } from "../../../outbound/outbound.ts";
import type { SendDeps, Sender } from "../../record/sender.ts";
import { attemptResult, bodyLimitBytes } from "../../receiver/classify.ts";
import { maskSecrets } from "./maskSecrets.ts";

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
      ended(attemptResult(own === null ? answer : maskSecrets(answer, own.secretValues)));
    });
  };
}

function endUnsent(fault: string, ended: (result: AttemptResult) => void): void {
  queueMicrotask(() => ended(notSent(fault)));
}
