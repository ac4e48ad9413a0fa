import type { ExchangeResult } from "../../outbound/exchangeResult.ts";
import type { Outbound, OutboundRequest } from "../../outbound/outbound.ts";
import { classify } from "./classify.ts";
import { maskSecrets } from "./maskSecrets.ts";
import { type AttemptResult, type Delivery, notSent } from "../../items/delivery.ts";
import { sign } from "../../items/signature.ts";
import type { TargetConfig } from "../../targets/targetConfig.ts";

/** How much of a receiver's answer is read, and how much of that is kept on the attempt. */
const bodyLimitBytes = 16 * 1024;
const keptBodyBytes = 1024;

export interface SendDeps {
  outbound: Outbound;
  /** For the whole exchange, in milliseconds. */
  timeoutMs: number;
  nowMs: () => number;
}

/**
 * One signed delivery (Standard Webhooks): the payload's bytes as received, under the event's `webhook-id`. Calls `ended` once,
 * after it has returned.
 */
export function sendWebhook(
  deps: SendDeps,
  delivery: Delivery,
  target: TargetConfig,
  ended: (result: AttemptResult) => void,
): void {
  const { signing, headers: own } = target;
  if ("fault" in signing) return endUnsent(signing.fault, ended);
  if (own !== null && "fault" in own) return endUnsent(own.fault, ended);
  // A replay repeats an event, and a receiver that deduplicates as Standard Webhooks advises applies it once.
  const webhookId = delivery.webhookId ?? delivery.eventId;
  const timestampSeconds = Math.floor(deps.nowMs() / 1000);
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
    timeoutMs: deps.timeoutMs,
    bodyLimitBytes,
  };
  deps.outbound.send(request, (result) =>
    ended(toAttempt(own === null ? result : maskSecrets(result, own.secretValues))),
  );
}

function endUnsent(fault: string, ended: (result: AttemptResult) => void): void {
  queueMicrotask(() => ended(notSent(fault)));
}

function toAttempt(result: ExchangeResult): AttemptResult {
  const answered = result.kind === "response";
  return {
    outcome: classify(result),
    statusCode: answered ? result.status : 0,
    durationMs: result.durationMs,
    responseBody: answered && result.body.length > 0 ? result.body.subarray(0, keptBodyBytes) : null,
    retryAfter: (answered && result.headers["retry-after"]) || null,
  };
}
