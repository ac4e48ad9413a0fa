import type { IncomingHttpHeaders } from "node:http";
import { type Static, Type } from "typebox";
import { isId, unknownId } from "../postgres/ids.ts";
import { keysCheckedInSql } from "../http/contract/access.ts";
import { disconnectSignal } from "../http/contract/client.ts";
import { requiredKey } from "../http/contract/credentials.ts";
import { ApiError, notFound, unauthorized } from "../http/contract/errors.ts";
import { parseIf } from "../http/contract/json.ts";
import { type FastAnswer, routesOf, sendAnswer } from "../http/contract/route.ts";
import { optionalBody } from "../http/contract/schemas.ts";
import { consumerChanges } from "../http/contract/scope.ts";
import type { ClaimChange } from "./finish/changeClaims.ts";
import type { ChangeResult } from "./finish/closeMessages.ts";
import { isMailboxOf } from "./message/findMailbox.ts";
import { claimedMessageText } from "./message/message.ts";
import { Claim, Claims, LeaseSeconds, Reason, RejectedClaims, Results } from "./message/schemas.ts";
import { changeRefusal } from "./refusals.ts";
import { claimAudit, consumerOf, forConsumers, type MailboxRouteDeps } from "./routeDeps.ts";
import type { Consumer } from "./traceConsumers.ts";

const route = routesOf<MailboxRouteDeps>("Mailboxes");

const ClaimBody = optionalBody({
  max: Type.Optional(Type.Integer({ minimum: 1, maximum: 100, description: "Default: 1" })),
  wait_seconds: Type.Optional(Type.Integer({ minimum: 0, maximum: 30, description: "Default: 0" })),
  lease_seconds: Type.Optional(LeaseSeconds),
});

const claimRoute = route("claimMessages", "POST /api/v1/mailboxes/:mailbox_id/claim", {
  access: keysCheckedInSql(consumerChanges("target")),
  audit: claimAudit,
  summary: "Claim the oldest messages of a mailbox, optionally with a long poll",
  description:
    "Returns the claimable messages, at most `max`. If none is claimable, the request waits up to `wait_seconds` for a message, and then returns an empty list. A repeated request with the same `Claim-Id` returns the messages of that claim that are still claimed, so that a lost answer does not lose the claim.",
  headers: Type.Object({
    "claim-id": Type.Optional(
      Type.String({ description: "1 to 255 characters: the idempotency key of this claim" }),
    ),
  }),
  body: ClaimBody,
  response: { 200: Claim },
  examples: { request: { "A long poll": { max: 10, wait_seconds: 20 } } },
  async handle({ request, reply, params: { mailbox_id: id }, body }, deps) {
    const signal = body?.wait_seconds ? disconnectSignal(reply) : neverAborted;
    const mailboxId = isId(id) ? id : unknownId;
    const consumer = consumerOf(deps, requiredKey(request), request);
    return sendAnswer(reply, await claim(deps, consumer, { mailboxId, body, signal }));
  },
  fast(whole, deps) {
    const presented = parseIf(ClaimBody, whole.body);
    // The client of a long poll may disconnect, which only the framework notices.
    if (presented === undefined || presented.value?.wait_seconds) return undefined;
    const consumer = consumerOf(deps, whole.key, whole);
    return claim(deps, consumer, { mailboxId: whole.id, body: presented.value, signal: neverAborted });
  },
});

async function claim(
  deps: MailboxRouteDeps,
  consumer: Consumer,
  { mailboxId, body, signal }: { mailboxId: string; body: Static<typeof ClaimBody>; signal: AbortSignal },
): Promise<FastAnswer> {
  const outcome = await deps.mailboxes.claim({
    key: consumer.key,
    mailboxId,
    max: body?.max ?? 1,
    leaseMs: (body?.lease_seconds ?? deps.config.mailboxLeaseSeconds) * 1000,
    claimId: readClaimId(consumer.headers),
    waitMs: (body?.wait_seconds ?? 0) * 1000,
    signal,
  });
  switch (outcome.kind) {
    case "unauthorized":
      throw unauthorized();
    case "notFound":
      throw notFound();
    case "empty":
      return { status: 200, text: claimText([], outcome.remaining) };
    case "claimed": {
      deps.consumerTraces?.claimed(consumer, outcome.messages);
      const lifeMs = deps.config.mailboxRetentionMs;
      const texts = outcome.messages.map((message) => claimedMessageText(message, lifeMs));
      return {
        status: 200,
        text: claimText(texts, outcome.remaining),
        headers: outcome.isRepeated ? [["claim-replayed", "true"]] : undefined,
      };
    }
  }
}

const neverAborted = new AbortController().signal;

function claimText(messages: string[], remaining: { ready: number; claimed: number }): string {
  return `{"messages":[${messages.join(",")}],"remaining":{"ready":${remaining.ready},"claimed":${remaining.claimed}}}`;
}

const printable = /^[\x20-\x7e\x80-\xff]{1,255}$/;

/** The header Claim-Id. @throws {ApiError} 400 when it is too long, empty or has control characters. */
function readClaimId(headers: IncomingHttpHeaders): string | null {
  const value = headers["claim-id"];
  if (value === undefined) return null;
  if (typeof value !== "string" || !printable.test(value)) {
    throw new ApiError(400, "Claim-Id must be 1 to 255 characters without control characters");
  }
  return value;
}

/** The parts that all routes for several claims share. */
const ofClaims = {
  access: keysCheckedInSql(consumerChanges("target")),
  audit: claimAudit,
  response: { 200: Results },
  examples: {
    request: {
      "A message of a claim": {
        messages: [
          { id: "019a4b6c7d8e7f0011223344556677ae", claim_token: "c407e34446473ae9502124b2ace0db5d" },
        ],
      },
    },
  },
};
const perMessage =
  "Every message has its own result, in the order of the request: a stale `claim_token` gets 409 and does not affect the other messages.";

const acknowledgeRoute = route("acknowledgeMessages", "POST /api/v1/mailboxes/:mailbox_id/ack", {
  ...ofClaims,
  summary: "Acknowledge claimed messages",
  description: perMessage,
  ...forConsumers(Type.Object({ messages: Claims }), async (deps, consumer, mailboxId, { messages }) => {
    const results = await endEach(deps, consumer, { mailboxId, messages, reason: null });
    return { status: 200, text: JSON.stringify({ results }) };
  }),
});

const rejectRoute = route("rejectMessages", "POST /api/v1/mailboxes/:mailbox_id/reject", {
  ...ofClaims,
  summary: "Reject claimed messages: they become dead, with a reason",
  description: perMessage,
  body: Type.Object({ messages: RejectedClaims, reason: Type.Optional(Reason) }),
  async handle({ request, params, body: { messages, reason = "rejected" } }, deps) {
    const consumer = consumerOf(deps, requiredKey(request), request);
    return { results: await endEach(deps, consumer, { mailboxId: params.mailbox_id, messages, reason }) };
  },
});

const extendRoute = route("extendClaims", "POST /api/v1/mailboxes/:mailbox_id/extend", {
  ...ofClaims,
  summary: "Extend the leases of claimed messages, counted from now",
  description: perMessage,
  body: Type.Object({ messages: Claims, lease_seconds: Type.Optional(LeaseSeconds) }),
  async handle({ request, params, body }, deps) {
    const leaseMs = (body.lease_seconds ?? deps.config.mailboxLeaseSeconds) * 1000;
    const claims = { mailboxId: params.mailbox_id, messages: body.messages };
    const change = { leaseMs, delayMs: 0, reason: null };
    return { results: await changeEach(deps, requiredKey(request), claims, change) };
  },
});

const releaseRoute = route("releaseMessages", "POST /api/v1/mailboxes/:mailbox_id/release", {
  ...ofClaims,
  summary: "Release claimed messages, claimable at once or after a delay",
  description: `${perMessage} A message that has used up its allowed claims becomes dead, and its \`dead_reason\` contains the reason.`,
  body: Type.Object({
    messages: Claims,
    delay_seconds: Type.Optional(Type.Integer({ minimum: 0, maximum: 43_200 })),
    reason: Type.Optional(Reason),
  }),
  async handle({ request, params, body: { messages, delay_seconds: delay = 0, reason = null } }, deps) {
    const change = { leaseMs: null, delayMs: delay * 1000, reason };
    const claims = { mailboxId: params.mailbox_id, messages };
    return { results: await changeEach(deps, requiredKey(request), claims, change) };
  },
});

type PresentedClaim = Static<typeof RejectedClaims>[number];
type Result = Static<typeof Results>["results"][number];

interface PresentedClaims {
  mailboxId: string;
  messages: PresentedClaim[];
}

async function endEach(
  deps: MailboxRouteDeps,
  consumer: Consumer,
  { mailboxId, messages, reason }: PresentedClaims & { reason: string | null },
): Promise<Result[]> {
  const outcomes = await Promise.all(
    messages.map((message) =>
      deps.mailboxes.end({
        ...claimOf(consumer.key, mailboxId, message),
        reason: reason && (message.reason ?? reason),
      }),
    ),
  );
  await refuseUnknown(deps, consumer.key, mailboxId, outcomes);
  if (deps.consumerTraces !== undefined) {
    const ended = messages.filter((_message, index) => outcomes[index] === "done").map(({ id }) => id);
    deps.consumerTraces.ended(consumer, reason === null ? "acknowledge" : "reject", ended);
  }
  return outcomes.map((outcome, index) => resultOf(messages[index]!.id, outcome));
}

async function changeEach(
  deps: MailboxRouteDeps,
  key: string,
  { mailboxId, messages }: PresentedClaims,
  change: Pick<ClaimChange, "leaseMs" | "delayMs" | "reason">,
): Promise<Result[]> {
  const outcomes = await Promise.all(
    messages.map((message) => deps.mailboxes.change({ ...claimOf(key, mailboxId, message), ...change })),
  );
  const results = outcomes.map(({ result }) => result);
  await refuseUnknown(deps, key, mailboxId, results);
  return outcomes.map(({ result: outcome, leaseUntilMs }, index) => {
    const result = resultOf(messages[index]!.id, outcome);
    if (result.ok && leaseUntilMs !== null) result.claim_expires_at = Math.floor(leaseUntilMs / 1000);
    return result;
  });
}

function claimOf(key: string, mailboxId: string, { id, claim_token: token }: PresentedClaim) {
  return {
    key,
    messageId: isId(id) ? id : unknownId,
    mailboxId: isId(mailboxId) ? mailboxId : unknownId,
    claimToken: isId(token) ? token : unknownId,
  };
}

/** @throws {ApiError} 404 when the caller has no such mailbox. */
async function refuseUnknown(
  deps: MailboxRouteDeps,
  key: string,
  mailboxId: string,
  outcomes: ChangeResult[],
): Promise<void> {
  if (outcomes.some((outcome) => outcome !== "not found")) return;
  if (!isId(mailboxId) || !(await isMailboxOf(deps.pool, key, mailboxId))) throw notFound();
}

/** The answer's entry for one message. @throws {ApiError} 401 when the API key is unknown. */
function resultOf(id: string, outcome: ChangeResult): Result {
  if (outcome === "unauthorized") throw unauthorized();
  const refusal = changeRefusal(outcome);
  if (refusal === undefined) return { id, ok: true, status: 200 };
  return { id, ok: false, status: refusal.status, error: refusal.message };
}

/** Routes that claim messages of one mailbox and end their claims, many at a time. */
export const consumerRoutes = [claimRoute, acknowledgeRoute, extendRoute, releaseRoute, rejectRoute];
