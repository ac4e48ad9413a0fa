import type pg from "pg";
import { version } from "../config/version.ts";
import { openSigningKey } from "../items/signingSecret.ts";
import type { SecretBox } from "../items/secretBox.ts";
import type { ExchangeResult } from "../outbound/exchangeResult.ts";
import type { Outbound, OutboundRequest } from "../outbound/outbound.ts";
import { isId, newId } from "../postgres/ids.ts";
import type { Log } from "../telemetry/log.ts";
import { findTryoutTargets, keepRequests, type StoredRequest, type TryoutTarget } from "./store.ts";
import { answerOf, isTryoutUrl } from "./tryoutUrl.ts";
import { headerPairs, isSigned } from "./verifyRequest.ts";

export interface ReceiverDeps {
  pool: pg.Pool;
  box: SecretBox;
  log: Log;
  nowMs: () => number;
}

/** Of each target, this many requests are kept. */
const keptPerTarget = 50;
/** Of each body, this many bytes. */
const keptBodyBytes = 64 * 1024;
/** Requests that wait to be kept; beyond, the receiver is busy and says so with 503. */
const maxWaiting = 2000;

interface Waiting {
  request: OutboundRequest;
  startedAtMs: number;
  ended: (result: ExchangeResult) => void;
}

/**
 * The outbound client with one receiver within: what is posted to the tryout origin is verified and kept here, and
 * opens no connection. Everything else goes its usual way through the address guard.
 */
export function withTryout(outbound: Outbound, deps: ReceiverDeps): Outbound {
  let waiting: Waiting[] = [];
  let isReceiving = false;

  function receive(request: OutboundRequest, ended: (result: ExchangeResult) => void): void {
    const one = { request, startedAtMs: performance.now(), ended };
    if (waiting.length >= maxWaiting) {
      queueMicrotask(() => end(one, 503, "the receiver is busy"));
      return;
    }
    waiting.push(one);
    if (!isReceiving) void receiveAll();
  }

  /** One batch at a time; the next gathers meanwhile. Never rejects. */
  async function receiveAll(): Promise<void> {
    isReceiving = true;
    while (waiting.length > 0) {
      const batch = waiting;
      waiting = [];
      try {
        await keepBatch(deps, batch);
        for (const one of batch) end(one, answerOf(one.request.url), "received by the tryout");
      } catch (error) {
        deps.log.warn({ err: error }, "tryout requests could not be kept");
        for (const one of batch) end(one, 503, "the request could not be kept");
      }
    }
    isReceiving = false;
  }

  return {
    request: (request) =>
      isReceivedHere(request)
        ? new Promise((resolve) => receive(request, resolve))
        : outbound.request(request),
    send: (request, ended) =>
      isReceivedHere(request) ? receive(request, ended) : outbound.send(request, ended),
    close: () => outbound.close(),
  };
}

function isReceivedHere({ method, url }: OutboundRequest): boolean {
  return method === "POST" && isTryoutUrl(url);
}

function end({ startedAtMs, ended }: Waiting, status: number, text: string): void {
  ended({
    kind: "response",
    status,
    headers: { "content-type": "text/plain" },
    body: Buffer.from(text),
    truncated: false,
    durationMs: Math.round(performance.now() - startedAtMs),
  });
}

/** Verifies and keeps the last of what came for each target. */
async function keepBatch(deps: ReceiverDeps, batch: readonly Waiting[]): Promise<void> {
  const byUrl = Map.groupBy(batch, ({ request }) => request.url);
  const targets = await findTryoutTargets(deps.pool, [...byUrl.keys()]);
  const requests = targets.flatMap((target) =>
    (byUrl.get(target.url) ?? []).slice(-keptPerTarget).map(({ request }) => toStored(deps, target, request)),
  );
  if (requests.length > 0) await keepRequests(deps.pool, requests, keptPerTarget);
}

function toStored(deps: ReceiverDeps, target: TryoutTarget, request: OutboundRequest): StoredRequest {
  const pairs = receivedHeaders(request);
  const headers = new Map(pairs);
  const body = request.body ?? Buffer.alloc(0);
  const keys = target.secrets.map((sealed) => openSigningKey(deps.box, target.id, sealed));
  const nowMs = deps.nowMs();
  const id = newId(0, nowMs);
  const eventId = headers.get("x-event-id") ?? id;
  return {
    targetId: target.id,
    id,
    eventId: isId(eventId) ? eventId : id,
    headers: JSON.stringify(pairs),
    body: body.subarray(0, keptBodyBytes),
    size: body.length,
    isVerified: isSigned(keys, { headers, body }, nowMs),
    answered: answerOf(request.url),
  };
}

/** What the outbound client would have sent, with what it adds on every connection. */
function receivedHeaders({ headers, secretNames, body }: OutboundRequest): (readonly [string, string])[] {
  return [
    ...headerPairs(headers).map(
      ([name, value]) => [name, secretNames?.has(name.toLowerCase()) === true ? "***" : value] as const,
    ),
    ["user-agent", `Postrider/${version}`],
    ["content-length", String(body?.length ?? 0)],
  ];
}
