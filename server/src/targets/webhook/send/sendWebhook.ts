import { type AttemptOutcome, type AttemptResult, notSent } from "../../../items/delivery.ts";
import { secretForms } from "../../../items/secretForms.ts";
import { sign } from "../../../items/signature.ts";
import type { OutboundRequest } from "../../../outbound/outbound.ts";
import type { SendDeps, Sender } from "../../record/kind.ts";
import {
  type ExchangeError,
  type ExchangeResponse,
  type ExchangeResult,
  statusText,
} from "../../../outbound/exchangeResult.ts";

/**
 * Creates the sender of signed deliveries (Standard Webhooks): the payload's bytes as accepted, with the event's `webhook-id`.
 * Secrets in the answer are masked, and the answer is classified and cut to the length that an attempt keeps.
 */
export function webhookSender({ outbound, timeoutMs, nowMs }: SendDeps): Sender {
  return (delivery, target, ended) => {
    const { signing, headers: own } = target;
    if ("fault" in signing) return endUnsent(signing.fault, ended);
    if (own !== null && "fault" in own) return endUnsent(own.fault, ended);
    // A replay has the id of the event that it repeats, so that a receiver that deduplicates by it applies the event once.
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

const mask = "***";
/** Shorter secrets are not masked, because they would match in many places of an answer. */
const minLength = 4;

/**
 * Masks the secrets of the request in the receiver's answer: some receivers echo the request, and neither attempts nor logs may
 * show a secret. Each value is searched as it is, encoded for JSON (also with `\/`, as PHP writes it) and for URLs, and without
 * its scheme (`Bearer`).
 */
function maskSecrets(result: ExchangeResult, secrets: readonly string[]): ExchangeResult {
  if (secrets.length === 0) return result;
  const forms = new Set(secrets.flatMap(formsOf).toSorted((one, other) => other.length - one.length));
  const clean = (text: string): string => {
    let masked = text;
    for (const form of forms) masked = masked.replaceAll(form, mask);
    return masked;
  };
  if (result.kind === "error") return { ...result, message: clean(result.message) };
  const { location } = result.headers;
  return {
    ...result,
    headers: location === undefined ? result.headers : { ...result.headers, location: clean(location) },
    body: Buffer.from(clean(result.body.toString("latin1")), "latin1"),
  };
}

function formsOf(value: string): string[] {
  const withoutScheme = value.slice(value.lastIndexOf(" ") + 1);
  return [value, withoutScheme]
    .flatMap((form) => secretForms(form).concat(encodeURIComponent(form)))
    .filter((form) => form.length >= minLength);
}

const maxLocationLength = 200;
const askingForTime = new Set([408, 425, 429]);
const overloaded = new Set([429, 502, 503, 504]);
const delivered: AttemptOutcome = { kind: "delivered" };

/** The most bytes that are read of a receiver's answer, and the most that are stored with the attempt. */
const bodyLimitBytes = 16 * 1024;
const keptBodyBytes = 1024;

/**
 * Classifies an attempt by the rules of Standard Webhooks: 2xx is delivered, 410 disables the target, everything else is retried.
 * Redirects are never followed and count as failures.
 */
export function classify(result: ExchangeResult): AttemptOutcome {
  if (result.kind === "error") return classifyError(result);
  const { status } = result;
  if (status >= 200 && status < 300) return delivered;
  if (status === 410) return { kind: "gone", error: "receiver answered 410: it accepts no more deliveries" };
  return {
    kind: "retry",
    error: describe(result),
    countsTowardDisabling: !askingForTime.has(status),
    slowDown: overloaded.has(status),
  };
}

function classifyError({ code, message, sent }: ExchangeError): AttemptOutcome {
  // This process lacked a resource and sent nothing, so that it does not count as an attempt.
  if (code === "local" && !sent) return { kind: "unsent", error: message };
  return {
    kind: "retry",
    error: message,
    // The receiver did not cause errors with these codes.
    countsTowardDisabling: code !== "other" && code !== "local",
    slowDown: code === "timeout" || code === "connect_timeout",
  };
}

function describe({ status, headers: { location = "" } }: ExchangeResponse): string {
  const shown = location.length > maxLocationLength ? `${location.slice(0, maxLocationLength)}…` : location;
  return statusText("receiver", status, printable(shown));
}

/** Replaces control characters in bytes of headers, which must reach neither a log nor a `text` column (no NUL). */
function printable(text: string): string {
  return text.replace(/[^\u0020-\u007e…]/g, "?");
}
