import { Type } from "typebox";
import { isId, unknownId } from "../postgres/ids.ts";
import { keysCheckedInSql } from "../http/contract/access.ts";
import { requiredKey } from "../http/contract/credentials.ts";
import { notFound, unauthorized } from "../http/contract/errors.ts";
import { parseIf } from "../http/contract/json.ts";
import { type FastAnswer, routesOf, type RouteRecord, sendAnswer } from "../http/contract/route.ts";
import { consumerChanges } from "../http/contract/scope.ts";
import { claimRoute } from "./claimRoute.ts";
import type { ClaimChange } from "./finish/changeClaims.ts";
import type { ChangeResult } from "./finish/closeMessages.ts";
import { isMailboxOf } from "./message/findMailbox.ts";
import { changeRefusal } from "./refusals.ts";
import { claimAudit, consumerOf, type MailboxRouteDeps } from "./routeDeps.ts";
import type { Consumer } from "./traceConsumers.ts";
import { Claims, LeaseSeconds, Reason, RejectedClaims, Results } from "./message/schemas.ts";

const route = routesOf("Mailboxes");

/** Claiming the messages of one mailbox and ending their claims, many at a time. */
export function consumerRoutes(deps: MailboxRouteDeps): RouteRecord[] {
  return [claimRoute(deps), acknowledgeRoute(deps), extendRoute(deps), releaseRoute(deps), rejectRoute(deps)];
}

function acknowledgeRoute(deps: MailboxRouteDeps): RouteRecord {
  return route("acknowledgeMessages", "POST /api/v1/mailboxes/:mailbox_id/ack", {
    access: keysCheckedInSql(consumerChanges("target")),
    audit: claimAudit,
    summary: "Acknowledge claimed messages",
    description: perMessage,
    body: AcknowledgeBody,
    response: { 200: Results },
    handle: async ({ request, reply, params, body }) =>
      sendAnswer(
        reply,
        await acknowledge(
          deps,
          consumerOf(deps, requiredKey(request), request),
          params.mailbox_id,
          body.messages,
        ),
      ),
    fast(whole) {
      const presented = parseIf(AcknowledgeBody, whole.body);
      const consumer = consumerOf(deps, whole.key, whole);
      return presented && acknowledge(deps, consumer, whole.id, presented.value.messages);
    },
  })();
}

function rejectRoute(deps: MailboxRouteDeps): RouteRecord {
  return route("rejectMessages", "POST /api/v1/mailboxes/:mailbox_id/reject", {
    access: keysCheckedInSql(consumerChanges("target")),
    audit: claimAudit,
    summary: "Make claimed messages dead, with a reason",
    description: perMessage,
    body: Type.Object({
      messages: RejectedClaims,
      reason: Type.Optional(Reason),
    }),
    response: { 200: Results },
    async handle({ request, params, body }) {
      const { messages, reason = "rejected" } = body;
      const mailboxId = params.mailbox_id;
      const consumer = consumerOf(deps, requiredKey(request), request);
      return { results: await endEach(deps, consumer, { mailboxId, messages, reason }) };
    },
  })();
}

const AcknowledgeBody = Type.Object({ messages: Claims });

async function acknowledge(
  deps: MailboxRouteDeps,
  consumer: Consumer,
  mailboxId: string,
  messages: PresentedClaim[],
): Promise<FastAnswer> {
  const results = await endEach(deps, consumer, { mailboxId, messages, reason: null });
  return { status: 200, text: JSON.stringify({ results }) };
}

const perMessage =
  "Every message has its own result, in the order of the request: a stale `claim_token` gets 409 and leaves the others alone.";

function extendRoute(deps: MailboxRouteDeps): RouteRecord {
  return route("extendClaims", "POST /api/v1/mailboxes/:mailbox_id/extend", {
    access: keysCheckedInSql(consumerChanges("target")),
    audit: claimAudit,
    summary: "Keep claimed messages longer: a new lease from now on",
    description: perMessage,
    body: Type.Object({ messages: Claims, lease_seconds: Type.Optional(LeaseSeconds) }),
    response: { 200: Results },
    async handle({ request, params, body }) {
      const leaseMs = (body.lease_seconds ?? deps.config.mailboxLeaseSeconds) * 1000;
      return {
        results: await changeEach(deps, requiredKey(request), params.mailbox_id, {
          ...body,
          leaseMs,
          delayMs: 0,
          reason: null,
        }),
      };
    },
  })();
}

function releaseRoute(deps: MailboxRouteDeps): RouteRecord {
  return route("releaseMessages", "POST /api/v1/mailboxes/:mailbox_id/release", {
    access: keysCheckedInSql(consumerChanges("target")),
    audit: claimAudit,
    summary: "Give claimed messages back, claimable at once or after a delay",
    description: `${perMessage} A message whose last allowed claim this was is dead, and the reason is part of its \`dead_reason\`.`,
    body: Type.Object({
      messages: Claims,
      delay_seconds: Type.Optional(Type.Integer({ minimum: 0, maximum: 43_200 })),
      reason: Type.Optional(Reason),
    }),
    response: { 200: Results },
    async handle({ request, params, body }) {
      const delayMs = (body.delay_seconds ?? 0) * 1000;
      return {
        results: await changeEach(deps, requiredKey(request), params.mailbox_id, {
          ...body,
          leaseMs: null,
          delayMs,
          reason: body.reason ?? null,
        }),
      };
    },
  })();
}

interface PresentedClaim {
  id: string;
  claim_token: string;
  reason?: string;
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
  consumer: Consumer,
  input: { mailboxId: string; messages: PresentedClaim[]; reason: string | null },
): Promise<Result[]> {
  const outcomes = await Promise.all(
    input.messages.map((message) =>
      deps.mailboxes.end({
        ...claimOf(consumer.key, input.mailboxId, message),
        reason: input.reason && (message.reason ?? input.reason),
      }),
    ),
  );
  await refuseUnknown(deps, consumer.key, input.mailboxId, outcomes);
  if (deps.consumerTraces !== undefined) {
    const ended = input.messages.filter((_message, index) => outcomes[index] === "done");
    const verb = input.reason === null ? "acknowledge" : "reject";
    deps.consumerTraces.ended(
      consumer,
      verb,
      ended.map(({ id }) => id),
    );
  }
  return outcomes.map((outcome, index) => resultOf(input.messages[index]!.id, outcome));
}

async function changeEach(
  deps: MailboxRouteDeps,
  key: string,
  mailboxId: string,
  input: { messages: PresentedClaim[] } & Pick<ClaimChange, "leaseMs" | "delayMs" | "reason">,
): Promise<Result[]> {
  const { messages, leaseMs, delayMs, reason } = input;
  const outcomes = await Promise.all(
    messages.map((message) =>
      deps.mailboxes.change({ ...claimOf(key, mailboxId, message), leaseMs, delayMs, reason }),
    ),
  );
  await refuseUnknown(
    deps,
    key,
    mailboxId,
    outcomes.map(({ result }) => result),
  );
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

/** @throws {ApiError} 404 instead of results, when the caller has no such mailbox. */
async function refuseUnknown(
  deps: MailboxRouteDeps,
  key: string,
  mailboxId: string,
  outcomes: ChangeResult[],
): Promise<void> {
  if (outcomes.some((outcome) => outcome !== "not found")) return;
  if (!isId(mailboxId) || !(await isMailboxOf(deps.pool, key, mailboxId))) throw notFound();
}

/** @throws {ApiError} 401 when the key is unknown. */
function resultOf(id: string, outcome: ChangeResult): Result {
  if (outcome === "unauthorized") throw unauthorized();
  const refusal = changeRefusal(outcome);
  if (refusal === undefined) return { id, ok: true, status: 200 };
  return { id, ok: false, status: refusal.status, error: refusal.message };
}
