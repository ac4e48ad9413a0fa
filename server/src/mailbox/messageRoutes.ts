import { keysCheckedInSql, usersAndKeys } from "../http/contract/access.ts";
import { notFound } from "../http/contract/errors.ts";
import { Type } from "typebox";
import { mailboxRetentionMs } from "../config/config.ts";
import { requiredKey } from "../http/contract/credentials.ts";
import { parseIf } from "../http/contract/json.ts";
import { type FastAnswer, routesOf, type RouteRecord, sendAnswer } from "../http/contract/route.ts";
import { optionalBody } from "../http/contract/schemas.ts";
import { consumerChanges, consumerReads } from "../http/contract/scope.ts";
import { isId, unknownId } from "../postgres/ids.ts";
import { changeRefusal, claimRefusal } from "./refusals.ts";
import { claimedMessageText } from "./message/message.ts";
import { Acknowledged, Claimed, ReadableMessage } from "./message/schemas.ts";
import { claimAudit, consumerOf, type MailboxRouteDeps, readDeps } from "./routeDeps.ts";
import type { Consumer } from "./traceConsumers.ts";
import { readMessage } from "./view/readMessage.ts";

const route = routesOf("Mailboxes");

const NoFields = optionalBody({});
const Acknowledgement = optionalBody({ claim_token: Type.Optional(Type.String({ maxLength: 64 })) });

/** A single message: reading, claiming and acknowledging it. */
export function messageRoutes(deps: MailboxRouteDeps): RouteRecord[] {
  return [readRoute(deps), claimRoute(deps), acknowledgeRoute(deps)];
}

function readRoute(deps: MailboxRouteDeps): RouteRecord {
  return route("readMessage", "GET /api/v1/mailbox-messages/:message_id", {
    access: usersAndKeys("viewer", consumerReads("event")),
    summary: "Read a message and its payload",
    description: "Changes nothing.",
    response: { 200: ReadableMessage },
    async handle({ caller, params, reply }) {
      const text = await readMessage(readDeps(deps), caller.orgId, params.message_id);
      if (text === undefined) throw notFound();
      return sendAnswer(reply, { status: 200, text });
    },
  })();
}

function claimRoute(deps: MailboxRouteDeps): RouteRecord {
  return route("claimMessage", "POST /api/v1/mailbox-messages/:message_id/claim", {
    access: keysCheckedInSql(consumerChanges("event")),
    audit: claimAudit,
    summary: "Claim a message",
    description: "The lease lasts five minutes unless the service is set up otherwise.",
    body: NoFields,
    response: { 200: Claimed },
    errors: {
      409: "The message is claimed (by whomever), acknowledged, dead, expired or not yet its key's turn",
    },
    handle: async ({ request, reply, params }) =>
      sendAnswer(
        reply,
        await claimOne(deps, consumerOf(deps, requiredKey(request), request), params.message_id),
      ),
    fast: (whole) =>
      parseIf(NoFields, whole.body)
        ? claimOne(deps, consumerOf(deps, whole.key, whole), whole.id)
        : undefined,
  })();
}

function acknowledgeRoute(deps: MailboxRouteDeps): RouteRecord {
  return route("acknowledgeMessage", "POST /api/v1/mailbox-messages/:message_id/ack", {
    access: keysCheckedInSql(consumerChanges("event")),
    audit: claimAudit,
    summary: "Acknowledge a message that this API key has claimed",
    description:
      "With `claim_token`, the claim must be the one that the token is from; without it, any active claim of this API key will do. Acknowledging again is answered the same.",
    body: Acknowledgement,
    response: { 200: Acknowledged },
    errors: { 403: "Another API key has claimed it", 409: "No active claim, or one with another token" },
    handle: async ({ request, reply, params, body }) =>
      sendAnswer(
        reply,
        await acknowledgeOne(
          deps,
          consumerOf(deps, requiredKey(request), request),
          params.message_id,
          body?.claim_token,
        ),
      ),
    fast(whole) {
      const presented = parseIf(Acknowledgement, whole.body);
      const consumer = consumerOf(deps, whole.key, whole);
      return presented && acknowledgeOne(deps, consumer, whole.id, presented.value?.claim_token);
    },
  })();
}

async function claimOne(deps: MailboxRouteDeps, consumer: Consumer, messageId: string): Promise<FastAnswer> {
  const outcome = await deps.mailboxes.claimNamed({
    key: consumer.key,
    messageId: isId(messageId) ? messageId : unknownId,
    leaseMs: deps.config.mailboxLeaseSeconds * 1000,
  });
  if (outcome.kind === "refused") throw claimRefusal(outcome.refusal);
  deps.consumerTraces?.claimed(consumer, [outcome.message]);
  return { status: 200, text: claimedMessageText(outcome.message, mailboxRetentionMs(deps.config)) };
}

async function acknowledgeOne(
  deps: MailboxRouteDeps,
  consumer: Consumer,
  messageId: string,
  token: string | undefined,
): Promise<FastAnswer> {
  const result = await deps.mailboxes.end({
    key: consumer.key,
    messageId: isId(messageId) ? messageId : unknownId,
    mailboxId: null,
    claimToken: token === undefined ? null : isId(token) ? token : unknownId,
    reason: null,
  });
  const refusal = changeRefusal(result);
  if (refusal !== undefined) throw refusal;
  if (result === "done") deps.consumerTraces?.ended(consumer, "acknowledge", [messageId]);
  return { status: 200, text: `{"id":"${messageId}","status":"ACKNOWLEDGED"}` };
}
