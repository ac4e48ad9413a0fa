import { Type } from "typebox";
import { users } from "../http/contract/access.ts";
import type { Caller } from "../http/contract/credentials.ts";
import { ApiError } from "../http/contract/errors.ts";
import { routesOf, type RouteRecord, sendAnswer } from "../http/contract/route.ts";
import { forceRefusal } from "./refusals.ts";
import { forceMessage } from "./finish/forceMessage.ts";
import { optionalBody } from "../http/contract/schemas.ts";
import { ReadableMessage, Reason } from "./message/schemas.ts";
import { type MailboxRouteDeps, readDeps } from "./routeDeps.ts";
import { readMessage } from "./view/readMessage.ts";

const route = routesOf("Mailboxes");

/** Interventions of a person into a message that a consumer may have claimed. */
export function handRoutes(deps: MailboxRouteDeps): RouteRecord[] {
  const change = async (
    caller: Caller,
    { mailbox_id: mailboxId, message_id: messageId }: { mailbox_id: string; message_id: string },
    reason: string | null,
  ): Promise<string> => {
    const { orgId } = caller;
    for (;;) {
      const outcome = await forceMessage(
        { ...deps, ...readDeps(deps), onMailboxItems: (ids) => deps.mailboxes.onMailboxItems(ids) },
        { orgId, userId: userOf(caller), mailboxId, messageId, reason },
      );
      if (outcome !== "done") throw forceRefusal(outcome);
      const message = await readMessage(readDeps(deps), orgId, messageId);
      if (message !== undefined) return message;
      // It was canceled, or its mailbox deleted, since: the next attempt is refused with that reason.
    }
  };
  return [
    route("forceRelease", "POST /api/v1/mailboxes/:mailbox_id/messages/:message_id/force-release", {
      access: users("member"),
      audit: { none: "the message keeps the intervention and who did it" },
      summary: "Take a claimed message from its consumer",
      description:
        "It is claimable at once, or dead when this was the last claim that its mailbox allows. What its consumer still does with the claim is refused as with a lapsed one. Who did it is in `interventions`.",
      body: optionalBody({}),
      response: { 200: ReadableMessage },
      errors: { 409: "Nobody has claimed it, or it is acknowledged, dead or expired" },
      handle: async ({ caller, params, reply }) =>
        sendAnswer(reply, { status: 200, text: await change(caller, params, null) }),
    })(),
    route("forceReject", "POST /api/v1/mailboxes/:mailbox_id/messages/:message_id/force-reject", {
      access: users("member"),
      audit: { none: "the message keeps the intervention and who did it" },
      summary: "Make a message dead, whoever has claimed it",
      description:
        "Also one that nobody has claimed. Its consumer's claim ends; the next message of its ordering key becomes claimable. Who did it is in `interventions`, and `redrive` brings it back.",
      body: Type.Object({ reason: Reason }),
      response: { 200: ReadableMessage },
      errors: { 409: "It is acknowledged, dead or expired" },
      examples: { request: { "A message that stops its key": { reason: "the order was deleted by hand" } } },
      handle: async ({ caller, params, body, reply }) =>
        sendAnswer(reply, { status: 200, text: await change(caller, params, body.reason) }),
    })(),
  ];
}

/** The user whose session it is: routes with the credential `session` have no other callers. */
function userOf(caller: Caller): string {
  if (caller.kind !== "session") throw new ApiError(403, "this needs a session");
  return caller.userId;
}
