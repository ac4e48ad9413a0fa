import type pg from "pg";
import type { Config } from "../config/config.ts";
import { sendWebhook } from "../delivery/attempt/sendWebhook.ts";
import { ApiError, notFound } from "../http/contract/errors.ts";
import type { AttemptResult, Delivery } from "../items/delivery.ts";
import type { SecretBox } from "../items/secretBox.ts";
import type { Outbound } from "../outbound/outbound.ts";
import { bucketOf, newId } from "../postgres/ids.ts";
import { loadTargets, type TargetConfig } from "../targets/targetConfig.ts";

export interface TestDeps {
  config: Pick<Config, "deliveryTimeoutMs">;
  pool: pg.Pool;
  box: SecretBox;
  outbound: Outbound;
  nowMs: () => number;
}

export interface TestToSend {
  eventType: string;
  /** JSON; the sample when undefined. */
  payload: Buffer | undefined;
}

/** What every test carries besides the headers of a delivery, so that a receiver can tell. */
const mark = ["x-postrider-test", "true"];

/**
 * Sends one signed delivery to a webhook now, through the guarded outbound client, and gives what came of it. It is no
 * item: nothing is stored, retried, counted or billed, and the target stays as it is, whatever the receiver answers.
 * @throws {ApiError} 404 when the target is gone, 503 when this process lacks what it takes to send.
 */
export async function sendTest(
  deps: TestDeps,
  targetId: string,
  test: TestToSend,
): Promise<{ eventId: string; result: AttemptResult }> {
  const target = (await loadTargets(deps.pool, deps.box, [targetId])).get(targetId);
  if (target === undefined) throw notFound();
  const eventId = newId(bucketOf(targetId), deps.nowMs());
  const payload = test.payload ?? samplePayload(test.eventType, eventId, deps.nowMs());
  const result = await attempt(
    deps,
    deliveryOf(target, { eventId, eventType: test.eventType, payload }),
    target,
  );
  if (result.outcome.kind === "unsent") {
    throw new ApiError(503, `the test could not be sent: ${result.outcome.error}`, { retryAfterSeconds: 5 });
  }
  return { eventId, result };
}

function attempt(deps: TestDeps, delivery: Delivery, target: TargetConfig): Promise<AttemptResult> {
  const outbound: Outbound = {
    ...deps.outbound,
    send: (request, ended) =>
      deps.outbound.send({ ...request, headers: [...request.headers, ...mark] }, ended),
  };
  const sending = { outbound, timeoutMs: deps.config.deliveryTimeoutMs, nowMs: deps.nowMs };
  return new Promise((resolve) => sendWebhook(sending, delivery, target, resolve));
}

function deliveryOf(
  target: TargetConfig,
  item: Pick<Delivery, "eventId" | "payload"> & { eventType: string },
): Delivery {
  return {
    ...item,
    rowId: item.eventId,
    targetId: target.id,
    kind: 1,
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
