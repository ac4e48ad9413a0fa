import { DeliveryAttempt } from "../events/schemas.ts";
import { usersAndKeys } from "../http/contract/access.ts";
import { ApiError, notFound, orRefused } from "../http/contract/errors.ts";
import { routesOf } from "../http/contract/route.ts";
import { customerChanges } from "../http/contract/scope.ts";
import { findTarget } from "../targets/findTarget.ts";
import { kindNamed, kindNames } from "../targets/kinds.ts";
import type { StoredTarget } from "../targets/record/store.ts";
import examples from "./examples.json" with { type: "json" };
import type { FastifyReply } from "fastify";
import type pg from "pg";
import { countOrRefuse } from "../http/contract/countOrRefuse.ts";
import { Type } from "typebox";
import { nullable } from "../http/contract/schemas.ts";
import { textOf } from "../http/contract/textForms.ts";
import type { Config } from "../config/config.ts";
import type { AttemptResult, Delivery } from "../items/delivery.ts";
import type { Outbound } from "../outbound/outbound.ts";
import { bucketOf, newId } from "../postgres/ids.ts";
import { type DeliveredKind, kindNumbers } from "../postgres/kinds.ts";
import { loadTargets } from "../targets/record/targetConfig.ts";
import type { Parts } from "../items/parts.ts";

const route = routesOf<TestDeps>("Targets");

interface TestDeps extends Pick<Parts, "pool" | "queries" | "box" | "outbound" | "nowMs"> {
  config: Pick<Config, "deliveryTimeoutMs">;
}

const windowSeconds = 60;
/** The most tests per minute. Each occupies a request and a connection until the receiver answers. */
const perTarget = 10;
const perOrganization = 30;

/** The limits in words, for the interface's document. */
const testLimits = `${perTarget} tests a minute to one target, ${perOrganization} to all targets`;

const TestItem = nullable(
  Type.Object(
    {
      event_type: Type.Optional(
        textOf("eventType", {
          description: "Value of `x-event-type`; default `postrider.test`",
        }),
      ),
      payload: Type.Optional(Type.Unknown({ description: "Payload to send, any JSON; default: a sample" })),
    },
    { title: "TestItem" },
  ),
);

const TestResult = Type.Object(
  {
    event_id: textOf("id", {
      description: "The delivery's `webhook-id`; there is no event with this id",
    }),
    is_test: Type.Literal(true),
    delivered: Type.Boolean({ description: "Whether the receiver answered 2xx" }),
    attempt: Type.Object(
      Type.Pick(DeliveryAttempt, ["status_code", "duration_ms", "error", "response_body"]).properties,
    ),
  },
  { title: "TestResult" },
);

export const testRoute = route("testTarget", "POST /api/v1/targets/:id/test", {
  access: usersAndKeys("member", customerChanges("target")),
  audit: { none: "a test is not stored" },
  summary: "Send a test delivery to a webhook and show its receiver's answer",
  description: `Makes one signed delivery at once, with the header \`x-postrider-test: true\`, and does not retry it. It is not an item: it is not stored, billed or counted, and its result does not change the target. Works for disabled targets, too. At most ${testLimits}.`,
  body: TestItem,
  keptField: "payload",
  response: { 200: TestResult },
  errors: { 429: "Too many tests of this target, or in this organization" },
  examples: examples.testTarget,
  async handle({ caller, params, body, reply }, deps) {
    const target = await findTarget(deps, caller.orgId, params.id);
    refuseUntestable(target);
    const payload = payloadOf(target, body?.payload);
    await countTest(deps.pool, { orgId: caller.orgId, targetId: target.id }, reply);
    const eventType = body?.event_type ?? "postrider.test";
    const sent = await sendTest(deps, target, { eventType, payload });
    const { eventId, result } = orRefused(sent, "sent", {
      gone: notFound,
      unsent: ({ error }) =>
        new ApiError(503, `the test could not be sent: ${error}`, { retryAfterSeconds: 5 }),
    });
    const { outcome, statusCode, durationMs, responseBody } = result;
    return {
      event_id: eventId,
      is_test: true as const,
      delivered: outcome.kind === "delivered",
      attempt: {
        status_code: statusCode,
        duration_ms: Math.round(durationMs),
        error: outcome.kind === "delivered" ? null : outcome.error,
        response_body: responseBody?.toString("utf8") ?? null,
      },
    };
  },
});

/** @throws {ApiError} 400 for a kind of target to which no test can be sent. */
function refuseUntestable({ kind }: StoredTarget): void {
  const { testFault } = kindNamed(kind);
  if (testFault === undefined) return;
  const testable = kindNames((one) => one.testFault === undefined, "and");
  throw new ApiError(400, `only ${testable}s can be tested: ${testFault}`);
}

/** The payload's bytes. @throws {ApiError} 413 when the payload is larger than the target's limit. */
function payloadOf(target: StoredTarget, payload: unknown): Buffer | undefined {
  if (payload === undefined) return undefined;
  const bytes = Buffer.from(JSON.stringify(payload));
  if (bytes.length > target.max_payload_bytes) {
    throw new ApiError(
      413,
      `the payload is larger than the target's max_payload_bytes, ${target.max_payload_bytes}`,
    );
  }
  return bytes;
}

/**
 * Counts one test against the limits of its target and its organization.
 * @throws {ApiError} 429 when one of the limits is reached.
 */
async function countTest(
  pool: pg.Pool,
  { orgId, targetId }: { orgId: string; targetId: string },
  reply: FastifyReply,
): Promise<void> {
  const common = { windowSeconds, refusal: `too many tests: ${testLimits}` };
  await countOrRefuse(pool, { scope: "test", subject: targetId, limit: perTarget, ...common }, reply);
  // The answer's headers tell the target's limit, unless the organization's limit refuses the test.
  const ofAll = { scope: "tests", subject: orgId, limit: perOrganization, isSilent: true };
  await countOrRefuse(pool, { ...ofAll, ...common }, reply);
}

type TestOutcome =
  | { kind: "sent"; eventId: string; result: AttemptResult }
  /** This process lacks a resource to send, such as file descriptors. */
  | { kind: "unsent"; error: string }
  | { kind: "gone" };

/**
 * Sends one delivery to a target now, through the outbound client with its address guard. It is no item: nothing is stored,
 * retried, counted or billed, and the receiver's answer does not change the target.
 */
async function sendTest(
  deps: TestDeps,
  { id, kind }: StoredTarget,
  test: { eventType: string; payload: Buffer | undefined },
): Promise<TestOutcome> {
  const target = (await loadTargets(deps.pool, deps.box, [id])).get(id);
  if (target === undefined) return { kind: "gone" };
  const eventId = newId(bucketOf(id), deps.nowMs());
  const payload = test.payload ?? samplePayload(test.eventType, eventId, deps.nowMs());
  const delivery: Delivery = {
    eventId,
    rowId: eventId,
    targetId: id,
    kind: kindNumbers[kind] as DeliveredKind,
    attempts: 0,
    scheduleAttempts: 0,
    targetVersion: target.version,
    payload,
    eventType: test.eventType,
    correlationId: null,
    sourceEventId: null,
    webhookId: null,
    traceContext: null,
    span: null,
    leaseToken: 0,
    leaseDeadlineMs: Number.POSITIVE_INFINITY,
  };
  const send = kindNamed(kind).sender!({
    outbound: withMark(deps.outbound),
    timeoutMs: deps.config.deliveryTimeoutMs,
    nowMs: deps.nowMs,
    sendHandoff: () => Promise.reject(new Error("a test is no handoff")),
  });
  const result = await new Promise<AttemptResult>((resolve, reject) => {
    Promise.resolve(send(delivery, target, resolve)).catch(reject);
  });
  return result.outcome.kind === "unsent"
    ? { kind: "unsent", error: result.outcome.error }
    : { kind: "sent", eventId, result };
}

/** The outbound client with an additional header, by which a receiver can tell tests from deliveries. */
function withMark(outbound: Outbound): Outbound {
  return {
    ...outbound,
    send: (request, ended) =>
      outbound.send({ ...request, headers: [...request.headers, "x-postrider-test", "true"] }, ended),
  };
}

function samplePayload(eventType: string, eventId: string, nowMs: number): Buffer {
  return Buffer.from(
    JSON.stringify({
      event_type: eventType,
      test: true,
      id: eventId,
      sent_at: Math.floor(nowMs / 1000),
      message: "A test of Postrider. No action is needed.",
    }),
  );
}
