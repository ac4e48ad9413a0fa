import { usersAndKeys } from "../http/contract/access.ts";
import { ApiError, notFound } from "../http/contract/errors.ts";
import { routesOf, type RouteRecord } from "../http/contract/route.ts";
import { customerChanges } from "../http/contract/scope.ts";
import type { Queries } from "../postgres/tables.ts";
import { findTarget } from "../targets/findTarget.ts";
import { kindNamed, kindNames } from "../targets/kinds.ts";
import type { StoredTarget } from "../targets/record/store.ts";
import { countTest, testLimits } from "./limitTests.ts";
import { TestItem, TestResult } from "./schemas.ts";
import { sendTest, type TestDeps, type TestOutcome } from "./sendTest.ts";
import examples from "./examples.json" with { type: "json" };

const route = routesOf("Targets");

/** `/api/v1/targets/:id/test`. */
export function testRoutes(deps: TestDeps & { queries: Queries }): RouteRecord[] {
  return [
    route("testTarget", "POST /api/v1/targets/:id/test", {
      access: usersAndKeys("member", customerChanges("target")),
      audit: { none: "nothing stays of a test" },
      summary: "Send a test to a webhook and see what its receiver says",
      description: `One signed delivery, made at once and never again, with the header \`x-postrider-test: true\`. It is no item: it is not stored, billed or counted, and the target stays as it is whatever comes of it. Also for a target that is disabled. At most ${testLimits}.`,
      body: TestItem,
      response: { 200: TestResult },
      errors: { 429: "Too many tests of this target, or in this workspace" },
      examples: examples.testTarget,
      async handle({ caller, params, body, reply }) {
        const target = await findTarget(deps, caller.orgId, params.id);
        refuseUntestable(target);
        const payload = payloadOf(target, body?.payload);
        const counted = await countTest(deps.pool, { orgId: caller.orgId, targetId: target.id }, reply);
        if (!counted.ok) {
          const { retryAfterSeconds } = counted;
          throw new ApiError(429, `too many tests: ${testLimits}`, { retryAfterSeconds });
        }
        const eventType = body?.event_type ?? "postrider.test";
        const { eventId, result } = wasSent(await sendTest(deps, target, { eventType, payload }));
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
    }),
  ];
}

/** @throws {ApiError} 400 for a kind that has no receiver which could answer a test. */
function refuseUntestable({ kind }: StoredTarget): void {
  const { testFault } = kindNamed(kind);
  if (testFault === undefined) return;
  const testable = kindNames((one) => one.testFault === undefined, "and");
  throw new ApiError(400, `only ${testable}s can be tested: ${testFault}`);
}

/** @throws {ApiError} 404 when the target was deleted meanwhile, 503 when this process lacks what it takes to send. */
function wasSent(test: TestOutcome): Extract<TestOutcome, { kind: "sent" }> {
  switch (test.kind) {
    case "sent":
      return test;
    case "gone":
      throw notFound();
    case "unsent":
      throw new ApiError(503, `the test could not be sent: ${test.error}`, { retryAfterSeconds: 5 });
  }
}

/** @throws {ApiError} 413 when it is larger than the target takes. */
function payloadOf(target: StoredTarget, payload: unknown): Buffer | undefined {
  if (payload === undefined) return undefined;
  const bytes = Buffer.from(JSON.stringify(payload));
  if (bytes.length > target.max_payload_bytes) {
    throw new ApiError(
      413,
      `the payload is larger than the ${target.max_payload_bytes} bytes that the target takes`,
    );
  }
  return bytes;
}
