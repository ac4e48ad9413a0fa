import type { IncomingHttpHeaders } from "node:http";
import { type Static, Type } from "typebox";
import { mailboxRetentionMs } from "../config/config.ts";
import { isId, unknownId } from "../postgres/ids.ts";
import { keysCheckedInSql } from "../http/contract/access.ts";
import { disconnectSignal } from "../http/contract/clientDisconnected.ts";
import { requiredKey } from "../http/contract/credentials.ts";
import { ApiError, notFound, unauthorized } from "../http/contract/errors.ts";
import { parseIf } from "../http/contract/json.ts";
import { routesOf, sendAnswer, type FastAnswer, type RouteRecord } from "../http/contract/route.ts";
import { consumerChanges } from "../http/contract/scope.ts";
import { claimedMessageText } from "./message/message.ts";
import { claimAudit, type MailboxRouteDeps } from "./routeDeps.ts";
import { optionalBody } from "../http/contract/schemas.ts";
import { Claim, LeaseSeconds } from "./message/schemas.ts";

const route = routesOf("Mailboxes");

const printable = /^[\x20-\x7e\x80-\xff]{1,255}$/;

/** The claim of a mailbox's oldest messages. */
export function claimRoute(deps: MailboxRouteDeps): RouteRecord {
  return route("claimMessages", "POST /api/v1/mailboxes/:mailbox_id/claim", {
    access: keysCheckedInSql(consumerChanges("target")),
    audit: claimAudit,
    summary: "Claim the oldest messages of a mailbox, waiting for some when there are none",
    description:
      "The answer holds what there is, at most `max`; it is empty when nothing came within `wait_seconds`. Repeating a request with the same `Claim-Id` gives the same claim, as far as its messages are still claimed: a lost answer is not a lost claim.",
    headers: Type.Object({
      "claim-id": Type.Optional(Type.String({ description: "1 to 255 characters that name this claim" })),
    }),
    body: ClaimBody,
    response: { 200: Claim },
    async handle({ request, reply, params, body }) {
      const signal = body?.wait_seconds ? disconnectSignal(reply) : neverAborted;
      const mailboxId = isId(params.mailbox_id) ? params.mailbox_id : unknownId;
      const { headers } = request;
      return sendAnswer(
        reply,
        await claim(deps, { key: requiredKey(request), mailboxId, headers, body, signal }),
      );
    },
    fast({ key, id, headers, body }) {
      const presented = parseIf(ClaimBody, body);
      // A caller that waits may disconnect, which only the framework notices.
      if (presented === undefined || presented.value?.wait_seconds) return undefined;
      return claim(deps, { key, mailboxId: id, headers, body: presented.value, signal: neverAborted });
    },
  })();
}

const ClaimBody = optionalBody({
  max: Type.Optional(Type.Integer({ minimum: 1, maximum: 100, description: "1 unless said" })),
  wait_seconds: Type.Optional(Type.Integer({ minimum: 0, maximum: 30, description: "0 unless said" })),
  lease_seconds: Type.Optional(LeaseSeconds),
});

interface PresentedClaimRequest {
  key: string;
  mailboxId: string;
  headers: IncomingHttpHeaders;
  body: Static<typeof ClaimBody>;
  signal: AbortSignal;
}

async function claim(
  deps: MailboxRouteDeps,
  { key, mailboxId, headers, body, signal }: PresentedClaimRequest,
): Promise<FastAnswer> {
  const startMs = deps.consumerTraces === undefined ? 0 : deps.nowMs();
  const outcome = await deps.mailboxes.claim({
    key,
    mailboxId,
    max: body?.max ?? 1,
    leaseMs: (body?.lease_seconds ?? deps.config.mailboxLeaseSeconds) * 1000,
    claimId: readClaimId(headers),
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
      deps.consumerTraces?.claimed({ key, headers, startMs }, outcome.messages);
      const lifeMs = mailboxRetentionMs(deps.config);
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

/** @throws {ApiError} 400 when it is too long, empty or has control characters. */
function readClaimId(headers: IncomingHttpHeaders): string | null {
  const value = headers["claim-id"];
  if (value === undefined) return null;
  if (typeof value !== "string" || !printable.test(value)) {
    throw new ApiError(400, "Claim-Id must be 1 to 255 characters without control characters");
  }
  return value;
}
