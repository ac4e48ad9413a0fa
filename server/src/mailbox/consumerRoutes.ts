import type { FastifyReply, FastifyRequest } from "fastify";
import { Type } from "typebox";
import { isId } from "../db/ids.ts";
import { ApiError, notFound, unauthorized } from "../http/errors.ts";
import { type RouteDefinition, route } from "../http/route.ts";
import type { ChangeCode } from "./endMessages.ts";
import { isMailboxOf } from "./findMailbox.ts";
import { keyOf, type MailboxRouteDeps, nobodysId, retentionMs } from "./mailboxDeps.ts";
import { claimedMessageText } from "./message.ts";
import { changeRefusal } from "./refusals.ts";
import { MailboxParams, sendText } from "./routes.ts";
import { Claim, Claims, LeaseSeconds, optionalBody, Results } from "./schemas.ts";

/** What consumers do with the messages of one mailbox, many at a time. */
export function consumerRoutes(
  deps: MailboxRouteDeps,
): Record<"claim" | "acknowledge" | "extend" | "release" | "reject", RouteDefinition> {
  return { ...claimRoute(deps), ...endRoutes(deps), ...leaseRoutes(deps) };
}

const printable = /^[\x20-\x7e\x80-\xff]{1,255}$/;

function claimRoute(deps: MailboxRouteDeps): Record<"claim", RouteDefinition> {
  return {
    claim: route(
      {
        summary: "Claim the oldest messages of a mailbox, waiting for some when there are none",
        description:
          "The answer holds what there is, at most `max`; it is empty when nothing came within `wait_seconds`. Repeating a request with the same `Claim-Id` gives the same claim, as far as its messages are still claimed: a lost answer is not a lost claim.",
        params: MailboxParams,
        headers: Type.Object({
          "claim-id": Type.Optional(Type.String({ description: "1 to 255 characters that name this claim" })),
        }),
        body: optionalBody({
          max: Type.Optional(Type.Integer({ minimum: 1, maximum: 100, description: "1 unless said" })),
          wait_seconds: Type.Optional(
            Type.Integer({ minimum: 0, maximum: 30, description: "0 unless said" }),
          ),
          lease_seconds: Type.Optional(LeaseSeconds),
        }),
        response: { 200: Claim },
      },
      async ({ request, reply, params, body }) => {
        const waitMs = (body?.wait_seconds ?? 0) * 1000;
        const outcome = await deps.mailboxes.claim({
          key: keyOf(request),
          mailboxId: isId(params.mailbox_id) ? params.mailbox_id : nobodysId,
          max: body?.max ?? 1,
          leaseMs: (body?.lease_seconds ?? deps.config.mailboxLeaseSeconds) * 1000,
          claimId: readClaimId(request),
          waitMs,
          signal: waitMs === 0 ? neverAborted : closeSignal(reply),
        });
        switch (outcome.kind) {
          case "unauthorized":
            throw unauthorized();
          case "notFound":
            throw notFound();
          case "empty":
            return sendText(reply, claimText([], outcome.remaining));
          case "claimed": {
            if (outcome.isRepeated) void reply.header("claim-replayed", "true");
            const lifeMs = retentionMs(deps.config);
            const texts = outcome.messages.map((message) => claimedMessageText(message, lifeMs));
            return sendText(reply, claimText(texts, outcome.remaining));
          }
        }
      },
    ),
  };
}

const neverAborted = new AbortController().signal;

/** Aborts when the connection closes before the answer has left. */
function closeSignal(reply: FastifyReply): AbortSignal {
  const controller = new AbortController();
  reply.raw.once("close", () => {
    if (!reply.raw.writableEnded) controller.abort();
  });
  return controller.signal;
}

function claimText(messages: string[], remaining: { ready: number; claimed: number }): string {
  return `{"messages":[${messages.join(",")}],"remaining":{"ready":${remaining.ready},"claimed":${remaining.claimed}}}`;
}

function readClaimId(request: FastifyRequest): string | null {
  const value = request.headers["claim-id"];
  if (value === undefined) return null;
  if (typeof value !== "string" || !printable.test(value)) {
    throw new ApiError(400, "Claim-Id must be 1 to 255 characters without control characters");
  }
  return value;
}

function endRoutes(deps: MailboxRouteDeps): Record<"acknowledge" | "reject", RouteDefinition> {
  return {
    acknowledge: route(
      {
        summary: "Acknowledge claimed messages",
        description: perMessage,
        params: MailboxParams,
        body: Type.Object({ messages: Claims }),
        response: { 200: Results },
      },
      async ({ request, params, body }) => {
        const { messages } = body;
        return {
          results: await endEach(deps, request, { mailboxId: params.mailbox_id, messages, reason: null }),
        };
      },
    ),
    reject: route(
      {
        summary: "Make claimed messages dead, with a reason",
        description: perMessage,
        params: MailboxParams,
        body: Type.Object({
          messages: Claims,
          reason: Type.Optional(Type.String({ minLength: 1, maxLength: 1000 })),
        }),
        response: { 200: Results },
      },
      async ({ request, params, body }) => {
        const { messages, reason = "rejected" } = body;
        return { results: await endEach(deps, request, { mailboxId: params.mailbox_id, messages, reason }) };
      },
    ),
  };
}

const perMessage =
  "Every message has its own result, in the order of the request: a stale `claim_token` gets 409 and leaves the others alone.";

function leaseRoutes(deps: MailboxRouteDeps): Record<"extend" | "release", RouteDefinition> {
  return {
    extend: route(
      {
        summary: "Keep claimed messages longer: a new lease from now on",
        description: perMessage,
        params: MailboxParams,
        body: Type.Object({ messages: Claims, lease_seconds: Type.Optional(LeaseSeconds) }),
        response: { 200: Results },
      },
      async ({ request, params, body }) => {
        const leaseMs = (body.lease_seconds ?? deps.config.mailboxLeaseSeconds) * 1000;
        return {
          results: await changeEach(deps, request, params.mailbox_id, { ...body, leaseMs, delayMs: 0 }),
        };
      },
    ),
    release: route(
      {
        summary: "Give claimed messages back, claimable at once or after a delay",
        description: perMessage,
        params: MailboxParams,
        body: Type.Object({
          messages: Claims,
          delay_seconds: Type.Optional(Type.Integer({ minimum: 0, maximum: 43_200 })),
        }),
        response: { 200: Results },
      },
      async ({ request, params, body }) => {
        const delayMs = (body.delay_seconds ?? 0) * 1000;
        return {
          results: await changeEach(deps, request, params.mailbox_id, { ...body, leaseMs: null, delayMs }),
        };
      },
    ),
  };
}

interface PresentedClaim {
  id: string;
  claim_token: string;
}

interface Result {
  id: string;
  ok: boolean;
  status: number;
  error?: string;
  claim_expires_at?: number;
}

async function endEach(
  deps: MailboxRouteDeps,
  request: FastifyRequest,
  input: { mailboxId: string; messages: PresentedClaim[]; reason: string | null },
): Promise<Result[]> {
  const codes = await Promise.all(
    input.messages.map((message) =>
      deps.mailboxes.end({ ...claimOf(request, input.mailboxId, message), reason: input.reason }),
    ),
  );
  await refuseUnknown(deps, request, input.mailboxId, codes);
  return codes.map((code, index) => resultOf(input.messages[index]!.id, code));
}

async function changeEach(
  deps: MailboxRouteDeps,
  request: FastifyRequest,
  mailboxId: string,
  input: { messages: PresentedClaim[]; leaseMs: number | null; delayMs: number },
): Promise<Result[]> {
  const { messages, leaseMs, delayMs } = input;
  const outcomes = await Promise.all(
    messages.map((message) =>
      deps.mailboxes.change({ ...claimOf(request, mailboxId, message), leaseMs, delayMs }),
    ),
  );
  await refuseUnknown(
    deps,
    request,
    mailboxId,
    outcomes.map((outcome) => outcome.code),
  );
  return outcomes.map(({ code, leaseUntilMs }, index) => {
    const result = resultOf(messages[index]!.id, code);
    if (result.ok && leaseUntilMs !== null) result.claim_expires_at = Math.floor(leaseUntilMs / 1000);
    return result;
  });
}

function claimOf(request: FastifyRequest, mailboxId: string, { id, claim_token: token }: PresentedClaim) {
  return {
    key: keyOf(request),
    messageId: isId(id) ? id : nobodysId,
    mailboxId: isId(mailboxId) ? mailboxId : nobodysId,
    claimToken: isId(token) ? token : nobodysId,
  };
}

/** A mailbox that the caller does not have gets no results. @throws {ApiError} 404 */
async function refuseUnknown(
  deps: MailboxRouteDeps,
  request: FastifyRequest,
  mailboxId: string,
  codes: ChangeCode[],
): Promise<void> {
  if (codes.some((code) => code !== "n")) return;
  if (!isId(mailboxId) || !(await isMailboxOf(deps.pool, keyOf(request), mailboxId))) throw notFound();
}

/** @throws {ApiError} 401: who has no key gets no results. */
function resultOf(id: string, code: ChangeCode): Result {
  if (code === "u") throw unauthorized();
  const refusal = changeRefusal(code);
  if (refusal === undefined) return { id, ok: true, status: 200 };
  return { id, ok: false, status: refusal.status, error: refusal.message };
}
