import { Type } from "typebox";
import { usersAndKeys } from "../http/contract/access.ts";
import type { Caller } from "../http/contract/credentials.ts";
import { ApiError, found } from "../http/contract/errors.ts";
import { routesOf } from "../http/contract/route.ts";
import { optionalBody } from "../http/contract/schemas.ts";
import { consumerReads, noLimitedKey } from "../http/contract/scope.ts";
import { type MailboxStatus, mailboxStatuses } from "../items/eventStatuses.ts";
import { idArray } from "../postgres/hot/binaryArray.ts";
import { callFunction } from "../postgres/hot/callFunction.ts";
import { isId } from "../postgres/ids.ts";
import { consumerRoutes } from "./consumerRoutes.ts";
import { findMailbox, type MailboxMoment } from "./message/findMailbox.ts";
import { ListedMessage, Stats } from "./message/schemas.ts";
import { handRoutes, messageRoutes } from "./messageRoutes.ts";
import { type MailboxRouteDeps, readDeps } from "./routeDeps.ts";
import { isSorted, listMessages } from "./view/listMessages.ts";
import { mailboxStats, statsBounds } from "./view/mailboxStats.ts";

const route = routesOf<MailboxRouteDeps>("Mailboxes");

const listRoute = route("listMessages", "GET /api/v1/mailboxes/:mailbox_id/messages", {
  access: usersAndKeys("viewer", consumerReads("target")),
  summary: "List a mailbox's messages, oldest first, without their payloads",
  description: `Without \`status\`, lists messages that are UNREAD or CLAIMED. Does not claim them.`,
  query: Type.Object({
    status: Type.Optional(Type.String({ description: mailboxStatuses.join(", ") })),
    limit: Type.Integer({ minimum: 1, maximum: 100, default: 50 }),
    after: Type.Optional(
      Type.String({
        description:
          "The id of the last message of the previous page. If that message was canceled or erased meanwhile, messages of the minute before it may appear again",
      }),
    ),
  }),
  response: { 200: Type.Object({ messages: Type.Array(ListedMessage) }) },
  errors: { 429: "The organization has too many such lists in progress" },
  async handle(call, deps) {
    const { caller, params, query } = call;
    const status = readStatus(query.status);
    const mailbox = await mailboxOf(deps, caller, params.mailbox_id);
    const { limit, after } = query;
    const list = async () => {
      const messages = await listMessages(readDeps(deps), mailbox, { status, limit, after });
      if (messages !== undefined) return messages;
      throw new ApiError(400, "after must be the id of a message of this mailbox");
    };
    return { messages: await (isSorted(status) ? deps.reads.run("lists", call, list) : list()) };
  },
});

/** @throws {ApiError} 404 when the organization has no such mailbox. */
async function mailboxOf(deps: MailboxRouteDeps, { orgId }: Caller, id: string): Promise<MailboxMoment> {
  return found(await findMailbox(readDeps(deps), orgId, id));
}

function readStatus(text: string | undefined): MailboxStatus | undefined {
  if (text === undefined) return undefined;
  const status = mailboxStatuses.find((known) => known === text);
  if (status === undefined) throw new ApiError(400, `status must be one of ${mailboxStatuses.join(", ")}`);
  return status;
}

const maxRedriven = 1_000;

const redriveRoute = route("redriveMessages", "POST /api/v1/mailboxes/:mailbox_id/redrive", {
  access: usersAndKeys("member", noLimitedKey),
  audit: { none: "the messages only become claimable again" },
  summary: "Redrive dead messages of a mailbox, oldest first",
  description: "The messages become UNREAD again, at their old position, as if they had never been claimed.",
  body: optionalBody({
    messages: Type.Optional(
      Type.Array(Type.String({ maxLength: 64 }), {
        minItems: 1,
        maxItems: 100,
        description: "Ids of dead messages; without `ids`, any dead messages",
      }),
    ),
    limit: Type.Optional(Type.Integer({ minimum: 1, maximum: maxRedriven })),
  }),
  response: { 200: Type.Object({ redriven: Type.Integer() }) },
  async handle({ caller, params, body }, deps) {
    const mailbox = await mailboxOf(deps, caller, params.mailbox_id);
    let redriven: number | null;
    do {
      const rows = await callFunction(deps.pool, "redrive_messages", {
        p_retention_ms: mailbox.retentionMs,
        p_bucket: mailbox.bucket,
        p_mailbox: mailbox.id,
        p_ids: idArray(body?.messages?.filter(isId)),
        p_limit: body?.limit ?? maxRedriven,
      });
      redriven = rows[0]!.redrive_messages;
    } while (redriven === null);
    if (redriven > 0) deps.onMailboxItems([mailbox.id]);
    return { redriven };
  },
});

const statsRoute = route("readMailboxStats", "GET /api/v1/mailboxes/:mailbox_id/stats", {
  access: usersAndKeys("viewer", consumerReads("target")),
  summary: "Read a mailbox's message counts and rates",
  response: { 200: Stats },
  handle: async ({ caller, params }, deps) =>
    mailboxStats(readDeps(deps), await mailboxOf(deps, caller, params.mailbox_id), statsBounds),
});

/** The routes of mailboxes: views, statistics, the calls of consumers, and interventions of users. */
export const mailboxRoutes = [
  listRoute,
  ...messageRoutes,
  ...consumerRoutes,
  redriveRoute,
  statsRoute,
  ...handRoutes,
];
