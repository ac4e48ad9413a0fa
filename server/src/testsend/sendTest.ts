import type { Config } from "../config/config.ts";
import type { AttemptResult, Delivery } from "../items/delivery.ts";
import type { Outbound } from "../outbound/outbound.ts";
import { bucketOf, newId } from "../postgres/ids.ts";
import { type DeliveredKind, kindNumbers, type TargetKind } from "../postgres/kinds.ts";
import { createSenders } from "../targets/kinds.ts";
import { loadTargets, type TargetConfig } from "../targets/record/targetConfig.ts";
import type { Parts } from "../items/parts.ts";

export interface TestDeps extends Pick<Parts, "pool" | "box" | "outbound" | "nowMs"> {
  config: Pick<Config, "deliveryTimeoutMs">;
}

export interface TestToSend {
  eventType: string;
  /** JSON; the sample when undefined. */
  payload: Buffer | undefined;
}

/** A header of every test besides those of a delivery, by which a receiver can tell them apart. */
const mark = ["x-postrider-test", "true"];

export type TestOutcome =
  | { kind: "sent"; eventId: string; result: AttemptResult }
  /** This process lacks what it takes to send, such as file descriptors. */
  | { kind: "unsent"; error: string }
  | { kind: "gone" };

/**
 * Sends one delivery to a target now, through the guarded outbound client. It is no item: nothing is stored, retried,
 * counted or billed, and the target stays as it is, whatever the receiver answers.
 */
export async function sendTest(
  deps: TestDeps,
  { id, kind }: { id: string; kind: TargetKind },
  test: TestToSend,
): Promise<TestOutcome> {
  const target = (await loadTargets(deps.pool, deps.box, [id])).get(id);
  if (target === undefined) return { kind: "gone" };
  const eventId = newId(bucketOf(id), deps.nowMs());
  const payload = test.payload ?? samplePayload(test.eventType, eventId, deps.nowMs());
  const item = { kind: kindNumbers[kind] as DeliveredKind, eventId, eventType: test.eventType, payload };
  const delivery = deliveryOf(target, item);
  const result = await attempt(deps, delivery, target);
  return result.outcome.kind === "unsent"
    ? { kind: "unsent", error: result.outcome.error }
    : { kind: "sent", eventId, result };
}

function attempt(deps: TestDeps, delivery: Delivery, target: TargetConfig): Promise<AttemptResult> {
  const outbound: Outbound = {
    ...deps.outbound,
    send: (request, ended) =>
      deps.outbound.send({ ...request, headers: [...request.headers, ...mark] }, ended),
  };
  const senders = createSenders({
    outbound,
    timeoutMs: deps.config.deliveryTimeoutMs,
    nowMs: deps.nowMs,
    sendHandoff: () => Promise.reject(new Error("a test is no handoff")),
  });
  return new Promise((resolve, reject) => {
    Promise.resolve(senders[delivery.kind](delivery, target, resolve)).catch(reject);
  });
}

function deliveryOf(
  target: TargetConfig,
  item: Pick<Delivery, "kind" | "eventId" | "eventType" | "payload">,
): Delivery {
  return {
    ...item,
    rowId: item.eventId,
    targetId: target.id,
    attempts: 0,
    scheduleAttempts: 0,
    targetVersion: target.version,
    correlationId: null,
    sourceEventId: null,
    webhookId: null,
    traceContext: null,
    span: null,
    leaseToken: 0,
    leaseDeadlineMs: Number.POSITIVE_INFINITY,
  };
}

function samplePayload(eventType: string, eventId: string, nowMs: number): Buffer {
  return Buffer.from(
    JSON.stringify({
      event_type: eventType,
      test: true,
      id: eventId,
      sent_at: Math.floor(nowMs / 1000),
      message: "A test of Postrider. Nothing happened that has to be acted upon.",
    }),
  );
}
