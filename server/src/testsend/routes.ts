import { type TargetKind } from "../postgres/kinds.ts";
import { ApiError, notFound } from "../http/contract/errors.ts";
import { route, type RouteRecord } from "../http/contract/route.ts";
import { customerChanges } from "../http/contract/scope.ts";
import { isId } from "../postgres/ids.ts";
import type { Queries } from "../postgres/tables.ts";
import { readTarget, type StoredTarget } from "../targets/store.ts";
import { countTest, testLimits } from "./limitTests.ts";
import { TestItem, TestResult } from "./schemas.ts";
import { sendTest, type TestDeps } from "./sendTest.ts";

/** `/api/v1/targets/:id/test`. */
export function testRoutes(deps: TestDeps & { queries: Queries }): RouteRecord[] {
  return [
    route({
      method: "POST",
      path: "/api/v1/targets/:id/test",
      credential: "either",
      leastRole: "member",
      scope: customerChanges("target"),
      operationId: "testTarget",
      tag: "Targets",
      audit: { none: "nothing stays of a test" },
      summary: "Send a test to a webhook and see what its receiver says",
      description: `One signed delivery, made at once and never again, with the header \`x-postrider-test: true\`. It is no item: it is not stored, billed or counted, and the target stays as it is whatever comes of it. Also for a target that is disabled. At most ${testLimits}.`,
      body: TestItem,
      response: { 200: TestResult },
      errors: { 429: "Too many tests of this target, or in this workspace" },
      examples: {
        request: { "A payload of one's own": { event_type: "order.created", payload: { order: { id: 0 } } } },
        answer: {
          event_id: "019a4b6c7d8e7f0011223344556677b0",
          is_test: true,
          delivered: false,
          attempt: {
            status_code: 401,
            duration_ms: 48,
            error: "receiver answered 401",
            response_body: "the signature does not fit",
          },
        },
      },
      async handle({ caller, params, body, reply }) {
        if (!isId(params.id)) throw notFound();
        const target = await readTarget(deps.queries, caller.orgId, params.id);
        refuseOthers(target.kind);
        const payload = payloadOf(target, body?.payload);
        await countTest(deps.pool, { orgId: caller.orgId, targetId: target.id }, reply);
        const eventType = body?.event_type ?? "postrider.test";
        const { eventId, result } = await sendTest(deps, target.id, { eventType, payload });
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

/** @throws {ApiError} 400 for a kind that has no receiver who could answer a test. */
function refuseOthers(kind: TargetKind): void {
  switch (kind) {
    case "webhook":
      return;
    case "mailbox":
      throw new ApiError(400, "only webhooks can be tested: a mailbox has no receiver, send it an item");
    case "a2a":
      throw new ApiError(
        400,
        "only webhooks can be tested: an agent would begin a task, refresh the target to check its card",
      );
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
