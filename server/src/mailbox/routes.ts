import type { IncomingHttpHeaders } from "node:http";
import type pg from "pg";
import { Type } from "typebox";
import { optionalBody } from "../http/contract/schemas.ts";
import { type Config, mailboxRetentionMs } from "../config/config.ts";
import { isId, unknownId } from "../postgres/ids.ts";
import { requiredKey } from "../http/contract/credentials.ts";
import { ApiError } from "../http/contract/errors.ts";
import { parseIf } from "../http/contract/parseIf.ts";
import { route, sendAnswer, type FastAnswer, type Routes } from "../http/contract/route.ts";
import { findMailbox, type ReadDeps } from "./message/findMailbox.ts";
import { listMessages } from "./view/listMessages.ts";
import type { Mailboxes } from "./mailboxes.ts";
import type { Consumer, ConsumerTraces } from "./traceConsumers.ts";
import { mailboxStats, statsBounds } from "./view/mailboxStats.ts";
import { claimedMessageText } from "./message/message.ts";
import { type MailboxStatus, mailboxStatuses } from "../items/eventStatuses.ts";
import { readMessage } from "./view/readMessage.ts";
import { maxRedriven, redriveMessages } from "./finish/redriveMessages.ts";
import { changeRefusal, claimRefusal } from "./claimErrors.ts";
import { Acknowledged, Claimed, ListedMessage, ReadableMessage, Stats } from "./message/schemas.ts";

/** What the routes of mailboxes work with. */
export interface MailboxRouteDeps {
  pool: pg.Pool;
  mailboxes: Mailboxes;
  consumerTraces?: ConsumerTraces | undefined;
  config: Pick<Config, "mailboxLeaseSeconds" | "mailboxRetentionSeconds">;
  /** Unix milliseconds. */
  nowMs: () => number;
}

export const MailboxParams = Type.Object({ mailbox_id: Type.String() });
const MessageParams = Type.Object({ message_id: Type.String() });
const NoFields = optionalBody({});
const Acknowledgement = optionalBody({ claim_token: Type.Optional(Type.String({ maxLength: 64 })) });

/** Mailboxes as people and programs look at them; claims and acknowledgements of single messages. */
export function mailboxRoutes(
  deps: MailboxRouteDeps,
): Routes<"list" | "stats" | "redrive" | "read" | "claim" | "acknowledge"> {
  return { ...viewRoutes(deps), ...messageRoutes(deps) };
}

function viewRoutes(deps: MailboxRouteDeps): Routes<"list" | "stats" | "redrive"> {
  return {
    list: route(
      {
        summary: "List a mailbox's messages, oldest first, without their payloads",
        description: `Without \`status\` it lists what is UNREAD or CLAIMED. Changes nothing.`,
        params: MailboxParams,
        querystring: Type.Object({
          status: Type.Optional(Type.String({ description: mailboxStatuses.join(", ") })),
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
        mailboxStats(
          readDeps(deps),
          await findMailbox(readDeps(deps), caller.orgId, params.mailbox_id),
          statsBounds,
        ),
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

function messageRoutes(deps: MailboxRouteDeps): Routes<"read" | "claim" | "acknowledge"> {
  return {
    read: route(
      {
        summary: "Read a message and its payload",
        description: "Changes nothing.",
        params: MessageParams,
        response: { 200: ReadableMessage },
      },
      async ({ caller, params, reply }) =>
        sendAnswer(reply, {
          status: 200,
          text: await readMessage(readDeps(deps), caller.orgId, params.message_id),
        }),
    ),
    claim: route(
      {
        summary: "Claim a message",
        description: "The lease lasts five minutes unless the service is set up otherwise.",
        params: MessageParams,
        body: NoFields,
        response: { 200: Claimed },
        errors: {
          409: "The message is claimed (by whomever), acknowledged, dead, expired or not yet its key's turn",
        },
      },
      async ({ request, reply, params }) =>
        sendAnswer(
          reply,
          await claimOne(deps, consumerOf(deps, requiredKey(request), request), params.message_id),
        ),
      {
        fast: (whole) =>
          parseIf(NoFields, whole.body)
            ? claimOne(deps, consumerOf(deps, whole.key, whole), whole.id)
            : undefined,
      },
    ),
    acknowledge: route(
      {
        summary: "Acknowledge a message that this API key has claimed",
        description:
          "With `claim_token`, the claim must be the one that the token is from; without it, any active claim of this API key will do. Acknowledging again is answered the same.",
        params: MessageParams,
        body: Acknowledgement,
        response: { 200: Acknowledged },
        errors: { 403: "Another API key has claimed it", 409: "No active claim, or one with another token" },
      },
      async ({ request, reply, params, body }) =>
        sendAnswer(
          reply,
          await acknowledgeOne(
            deps,
            consumerOf(deps, requiredKey(request), request),
            params.message_id,
            body?.claim_token,
          ),
        ),
      {
        fast(whole) {
          const presented = parseIf(Acknowledgement, whole.body);
          const consumer = consumerOf(deps, whole.key, whole);
          return presented && acknowledgeOne(deps, consumer, whole.id, presented.value?.claim_token);
        },
      },
    ),
  };
}

/** Who made a request, for the traces of its messages. */
export function consumerOf(
  { nowMs, consumerTraces }: MailboxRouteDeps,
  key: string,
  { headers }: { headers: IncomingHttpHeaders },
): Consumer {
  return { key, headers, startMs: consumerTraces === undefined ? 0 : nowMs() };
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

function readStatus(text: string | undefined): MailboxStatus | undefined {
  if (text === undefined) return undefined;
  const status = mailboxStatuses.find((known) => known === text);
  if (status === undefined) throw new ApiError(400, `status must be one of ${mailboxStatuses.join(", ")}`);
  return status;
}

export function readDeps({ pool, config }: MailboxRouteDeps): ReadDeps {
  return { pool, retentionMs: mailboxRetentionMs(config) };
}
