import type { FastifyReply } from "fastify";
import { Type } from "typebox";
import { isId } from "../db/ids.ts";
import { ApiError } from "../http/errors.ts";
import { type RouteDefinition, route } from "../http/route.ts";
import { findMailbox } from "./findMailbox.ts";
import { listMessages } from "./listMessages.ts";
import { keyOf, type MailboxRouteDeps, nobodysId, readDeps, retentionMs } from "./mailboxDeps.ts";
import { mailboxStats } from "./mailboxStats.ts";
import { claimedMessageText, type MessageStatus, messageStatuses } from "./message.ts";
import { readMessage } from "./readMessage.ts";
import { maxRedriven, redriveMessages } from "./redriveMessages.ts";
import { changeRefusal, claimRefusal } from "./refusals.ts";
import { Acknowledged, Claimed, ListedMessage, optionalBody, ReadableMessage, Stats } from "./schemas.ts";

export const MailboxParams = Type.Object({ mailbox_id: Type.String() });
const MessageParams = Type.Object({ message_id: Type.String() });

/** Mailboxes as people and programs look at them; claims and acknowledgements of single messages. */
export function mailboxRoutes(
  deps: MailboxRouteDeps,
): Record<"list" | "stats" | "redrive" | "read" | "claim" | "acknowledge", RouteDefinition> {
  return { ...viewRoutes(deps), ...messageRoutes(deps) };
}

function viewRoutes(deps: MailboxRouteDeps): Record<"list" | "stats" | "redrive", RouteDefinition> {
  return {
    list: route(
      {
        summary: "List a mailbox's messages, oldest first, without their payloads",
        description: `Without \`status\` it lists what is UNREAD or CLAIMED. Changes nothing.`,
        params: MailboxParams,
        querystring: Type.Object({
          status: Type.Optional(Type.String({ description: messageStatuses.join(", ") })),
          limit: Type.Integer({ minimum: 1, maximum: 100, default: 50 }),
          after: Type.Optional(Type.String({ description: "The id of the message before the page" })),
        }),
        response: { 200: Type.Object({ messages: Type.Array(ListedMessage) }) },
      },
      async ({ caller, params, query }) => {
        const status = readStatus(query.status);
        const mailbox = await findMailbox(readDeps(deps), caller.orgId, params.mailbox_id);
        const { limit, after } = query;
        return { messages: await listMessages(readDeps(deps), mailbox, { status, limit, after }) };
      },
    ),
    stats: route(
      {
        summary: "What a mailbox holds, and how fast it moves",
        params: MailboxParams,
        response: { 200: Stats },
      },
      async ({ caller, params }) =>
        mailboxStats(readDeps(deps), await findMailbox(readDeps(deps), caller.orgId, params.mailbox_id)),
    ),
    redrive: route(
      {
        summary: "Bring dead messages of a mailbox back, oldest first",
        description: "They are UNREAD again, in their old place, as if they had never been claimed.",
        params: MailboxParams,
        body: optionalBody({
          messages: Type.Optional(
            Type.Array(Type.String({ maxLength: 64 }), {
              minItems: 1,
              maxItems: 100,
              description: "Ids; without them, any",
            }),
          ),
          limit: Type.Optional(Type.Integer({ minimum: 1, maximum: maxRedriven })),
        }),
        response: { 200: Type.Object({ redriven: Type.Integer() }) },
      },
      async ({ caller, params, body }) => {
        const mailbox = await findMailbox(readDeps(deps), caller.orgId, params.mailbox_id);
        const redriven = await redriveMessages(
          { ...readDeps(deps), onMessagesReady: (ids) => deps.mailboxes.onMailboxItems(ids) },
          mailbox,
          { ids: body?.messages, limit: body?.limit ?? maxRedriven },
        );
        return { redriven };
      },
    ),
  };
}

function messageRoutes(deps: MailboxRouteDeps): Record<"read" | "claim" | "acknowledge", RouteDefinition> {
  return {
    read: route(
      {
        summary: "Read a message and its payload",
        description: "Changes nothing.",
        params: MessageParams,
        response: { 200: ReadableMessage },
      },
      async ({ caller, params, reply }) =>
        sendText(reply, await readMessage(readDeps(deps), caller.orgId, params.message_id)),
    ),
    claim: route(
      {
        summary: "Claim a message",
        description: "The lease lasts five minutes unless the service is set up otherwise.",
        params: MessageParams,
        body: optionalBody({}),
        response: { 200: Claimed },
        errors: {
          409: "The message is claimed (by whomever), acknowledged, dead, expired or not yet its key's turn",
        },
      },
      async ({ request, reply, params }) => {
        const outcome = await deps.mailboxes.claimNamed({
          key: keyOf(request),
          messageId: isId(params.message_id) ? params.message_id : nobodysId,
          leaseMs: deps.config.mailboxLeaseSeconds * 1000,
        });
        if (outcome.kind === "refused") throw claimRefusal(outcome.code);
        return sendText(reply, claimedMessageText(outcome.message, retentionMs(deps.config)));
      },
    ),
    acknowledge: route(
      {
        summary: "Acknowledge a message that this API key has claimed",
        description:
          "With `claim_token`, the claim must be the one that the token is from; without it, any active claim of this API key will do. Acknowledging again is answered the same.",
        params: MessageParams,
        body: optionalBody({ claim_token: Type.Optional(Type.String({ maxLength: 64 })) }),
        response: { 200: Acknowledged },
        errors: { 403: "Another API key has claimed it", 409: "No active claim, or one with another token" },
      },
      async ({ request, reply, params, body }) => {
        const token = body?.claim_token;
        const code = await deps.mailboxes.end({
          key: keyOf(request),
          messageId: isId(params.message_id) ? params.message_id : nobodysId,
          mailboxId: null,
          claimToken: token === undefined ? null : isId(token) ? token : nobodysId,
          reason: null,
        });
        const refusal = changeRefusal(code);
        if (refusal !== undefined) throw refusal;
        return sendText(reply, `{"id":"${params.message_id}","status":"ACKNOWLEDGED"}`);
      },
    ),
  };
}

/** Sends JSON text as it is. */
export function sendText(reply: FastifyReply, text: string): FastifyReply {
  return reply.type("application/json; charset=utf-8").send(text);
}

function readStatus(text: string | undefined): MessageStatus | undefined {
  if (text === undefined) return undefined;
  const status = messageStatuses.find((known) => known === text);
  if (status === undefined) throw new ApiError(400, `status must be one of ${messageStatuses.join(", ")}`);
  return status;
}
