import type { FastifyReply } from "fastify";
import { Type } from "typebox";
import { keysCheckedInSql, users, usersAndKeys } from "../http/contract/access.ts";
import { ApiError, found } from "../http/contract/errors.ts";
import { type RouteCall, routesOf, sendAnswer } from "../http/contract/route.ts";
import { optionalBody } from "../http/contract/schemas.ts";
import { consumerChanges, consumerReads } from "../http/contract/scope.ts";
import { isId, unknownId } from "../postgres/ids.ts";
import { forceMessage } from "./finish/forceMessage.ts";
import { claimedMessageText } from "./message/message.ts";
import { Acknowledged, Claimed, ReadableMessage, Reason } from "./message/schemas.ts";
import { changeRefusal, claimRefusal, forceRefusal } from "./refusals.ts";
import { claimAudit, forConsumers, type MailboxRouteDeps, readDeps } from "./routeDeps.ts";
import { readMessage } from "./view/readMessage.ts";

const route = routesOf<MailboxRouteDeps>("Mailboxes");

const readRoute = route("readMessage", "GET /api/v1/mailbox-messages/:message_id", {
  access: usersAndKeys("viewer", consumerReads("event")),
  summary: "Read a message and its payload",
  description: "Changes nothing.",
  response: { 200: ReadableMessage },
  async handle({ caller, params, reply }, deps) {
    const text = found(await readMessage(readDeps(deps), caller.orgId, params.message_id));
    return sendAnswer(reply, { status: 200, text });
  },
});

const claimRoute = route("claimMessage", "POST /api/v1/mailbox-messages/:message_id/claim", {
  access: keysCheckedInSql(consumerChanges("event")),
  audit: claimAudit,
  summary: "Claim a message",
  description:
    "The lease lasts five minutes unless the operator configured another length. The request has no `lease_seconds`; use `extend` for a lease of another length.",
  response: { 200: Claimed },
  errors: {
    409: "The message is claimed, acknowledged, dead, canceled or expired, or an earlier message with the same ordering key has not ended",
  },
  ...forConsumers(optionalBody({}), async (deps, consumer, messageId) => {
    const outcome = await deps.mailboxes.claimNamed({
      key: consumer.key,
      messageId: isId(messageId) ? messageId : unknownId,
      leaseMs: deps.config.mailboxLeaseSeconds * 1000,
    });
    if (outcome.kind === "refused") throw claimRefusal(outcome.refusal);
    deps.consumerTraces?.claimed(consumer, [outcome.message]);
    return { status: 200, text: claimedMessageText(outcome.message, deps.config.mailboxRetentionMs) };
  }),
});

const Acknowledgement = optionalBody({ claim_token: Type.Optional(Type.String({ maxLength: 64 })) });

const acknowledgeRoute = route("acknowledgeMessage", "POST /api/v1/mailbox-messages/:message_id/ack", {
  access: keysCheckedInSql(consumerChanges("event")),
  audit: claimAudit,
  summary: "Acknowledge a message that this API key has claimed",
  description:
    "With `claim_token`, the message's claim must be the one with this token; without it, any active claim of this API key is accepted. Acknowledging again gives the same answer.",
  response: { 200: Acknowledged },
  errors: {
    403: "Another API key has claimed the message",
    409: "The message has no active claim, or its claim has another token",
  },
  ...forConsumers(Acknowledgement, async (deps, consumer, messageId, body) => {
    const token = body?.claim_token;
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
  }),
});

/** The parts that the routes of both interventions share. */
const byHand = {
  access: users("member"),
  audit: { none: "the message itself records the intervention and its user" },
  response: { 200: ReadableMessage },
};

const forceReleaseRoute = route(
  "forceRelease",
  "POST /api/v1/mailboxes/:mailbox_id/messages/:message_id/force-release",
  {
    ...byHand,
    summary: "End a consumer's claim on a message",
    description:
      "The message becomes claimable at once, or dead if this was the last claim that its mailbox allows. The consumer's later requests with this claim are refused, as after a lapsed lease. `interventions` names the user.",
    body: optionalBody({}),
    errors: { 409: "The message is not claimed, or it is acknowledged, dead or expired" },
    handle: (call, deps) => force(deps, call, null),
  },
);

const forceRejectRoute = route(
  "forceReject",
  "POST /api/v1/mailboxes/:mailbox_id/messages/:message_id/force-reject",
  {
    ...byHand,
    summary: "Reject a message, even if another consumer has claimed the message",
    description:
      "The message becomes dead, even if it was not claimed. A consumer's claim ends; the next message with the same ordering key becomes claimable. `interventions` names the user, and `redrive` makes the message claimable again.",
    body: Type.Object({ reason: Reason }),
    errors: { 409: "The message is acknowledged, dead or expired" },
    examples: {
      request: { "A message that blocks its ordering key": { reason: "the order was deleted by hand" } },
    },
    handle: (call, deps) => force(deps, call, call.body.reason),
  },
);

/** Answers with the message after the intervention. */
async function force(
  deps: MailboxRouteDeps,
  { caller, params, reply }: RouteCall<{ mailbox_id: string; message_id: string }>,
  reason: string | null,
): Promise<FastifyReply> {
  if (caller.kind !== "session") throw new ApiError(403, "this route needs a user's session");
  const { orgId, userId } = caller;
  for (;;) {
    const change = { orgId, userId, mailboxId: params.mailbox_id, messageId: params.message_id, reason };
    const outcome = await forceMessage({ ...deps, ...readDeps(deps) }, change);
    if (outcome !== "done") throw forceRefusal(outcome);
    const message = await readMessage(readDeps(deps), orgId, params.message_id);
    if (message !== undefined) return sendAnswer(reply, { status: 200, text: message });
    // The message was canceled, or its mailbox deleted, in between: the next iteration is refused for that reason.
  }
}

/** Routes that read, claim and acknowledge a single message. */
export const messageRoutes = [readRoute, claimRoute, acknowledgeRoute];

/** Interventions of a user in a message that a consumer may have claimed. */
export const handRoutes = [forceReleaseRoute, forceRejectRoute];
