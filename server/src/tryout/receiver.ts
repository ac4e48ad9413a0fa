import { timingSafeEqual } from "node:crypto";
import { version } from "../config/version.ts";
import { sign } from "../items/signature.ts";
import { openSigningKey } from "../items/secretBox.ts";
import type { ExchangeResult } from "../outbound/exchangeResult.ts";
import type { LocalReceiver, OutboundRequest } from "../outbound/outbound.ts";
import { bucketOf, isId, newId } from "../postgres/ids.ts";
import {
  answerOf,
  findTryoutTargets,
  keepRequests,
  type StoredRequest,
  tryoutOrigin,
  type TryoutTarget,
} from "./store.ts";
import type { Parts } from "../items/parts.ts";

export type ReceiverDeps = Pick<Parts, "pool" | "cells" | "box" | "log" | "nowMs">;

const keptPerTarget = 50;
const keptBodyBytes = 64 * 1024;
/** The most requests that wait to be stored. Further requests are answered with 503. */
const maxWaiting = 2000;

interface Waiting {
  request: OutboundRequest;
  startedAtMs: number;
  ended: (result: ExchangeResult) => void;
}

/** The service's own receiver for trying out deliveries: verifies and stores requests to the tryout origin. */
export function createTryoutReceiver(deps: ReceiverDeps): LocalReceiver {
  let waiting: Waiting[] = [];
  let isReceiving = false;

  function receive(request: OutboundRequest, ended: (result: ExchangeResult) => void): void {
    const one = { request, startedAtMs: performance.now(), ended };
    if (request.method !== "POST") {
      queueMicrotask(() => ended(noSuchHost));
      return;
    }
    if (waiting.length >= maxWaiting) {
      queueMicrotask(() => end(one, 503, "the receiver is busy"));
      return;
    }
    waiting.push(one);
    if (!isReceiving) void receiveAll();
  }

  /** Stores one batch at a time; the next batch gathers in the meantime. Never rejects. */
  async function receiveAll(): Promise<void> {
    isReceiving = true;
    while (waiting.length > 0) {
      const batch = waiting;
      waiting = [];
      try {
        await keepBatch(deps, batch);
        for (const one of batch) end(one, answerOf(one.request.url), "received by the tryout receiver");
      } catch (error) {
        deps.log.warn({ err: error }, "tryout requests could not be kept");
        for (const one of batch) end(one, 503, "the request could not be kept");
      }
    }
    isReceiving = false;
  }

  return { origin: tryoutOrigin, receive };
}

/** The result of requests that are not POST: the same as for the host name in DNS, where it does not exist. */
const noSuchHost: ExchangeResult = {
  kind: "error",
  code: "dns",
  message: `the host name ${new URL(tryoutOrigin).hostname} does not exist`,
  durationMs: 0,
  sent: false,
};

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

async function keepBatch(deps: ReceiverDeps, batch: readonly Waiting[]): Promise<void> {
  const byUrl = Map.groupBy(batch, ({ request }) => request.url);
  const targets = await findTryoutTargets(deps.pool, [...byUrl.keys()]);
  for (const [{ pool }, found] of Map.groupBy(targets, ({ id }) => deps.cells.ofBucket(bucketOf(id)))) {
    const requests = found.flatMap((target) =>
      (byUrl.get(target.url) ?? [])
        .slice(-keptPerTarget)
        .map(({ request }) => toStored(deps, target, request)),
    );
    if (requests.length > 0) await keepRequests(pool, requests, keptPerTarget);
  }
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

/** The headers that the outbound client would have sent, including those that it adds to every request. */
function receivedHeaders({ headers, secretNames, body }: OutboundRequest): [string, string][] {
  const pairs: [string, string][] = [];
  // The outbound client takes names and values alternating.
  for (let at = 0; at < headers.length; at += 2) {
    const name = headers[at]!;
    pairs.push([name, secretNames?.has(name.toLowerCase()) === true ? "***" : headers[at + 1]!]);
  }
  pairs.push(["user-agent", `Postrider/${version}`], ["content-length", String(body?.length ?? 0)]);
  return pairs;
}

/** The difference that a receiver tolerates between the clocks (Standard Webhooks, "Verifying webhook authenticity"). */
const toleranceSeconds = 300;

type RequestHeaders = ReadonlyMap<string, string>;

/** Whether one of the keys signed the request, by the check that a real receiver would make. */
function isSigned(
  keys: readonly Buffer[],
  { headers, body }: { headers: RequestHeaders; body: Buffer },
  nowMs: number,
): boolean {
  const id = headers.get("webhook-id");
  const timestamp = headers.get("webhook-timestamp") ?? "";
  if (id === undefined || !/^\d{1,12}$/.test(timestamp)) return false;
  if (Math.abs(nowMs / 1000 - Number(timestamp)) > toleranceSeconds) return false;
  const presented = (headers.get("webhook-signature") ?? "").split(" ").map((one) => Buffer.from(one));
  return keys.some((key) => {
    const expected = Buffer.from(sign([key], id, Number(timestamp), body));
    return presented.some((one) => one.length === expected.length && timingSafeEqual(one, expected));
  });
}
