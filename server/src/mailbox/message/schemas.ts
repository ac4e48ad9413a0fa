import { Type } from "typebox";
import {
  Id,
  nullable,
  nullableInteger,
  NullableString,
  nullableString,
  oneOf,
  Timestamp,
} from "../../http/contract/schemas.ts";
import { textOf } from "../../http/contract/textForms.ts";
import { mailboxStatuses } from "../../items/eventStatuses.ts";

const fields = {
  id: Id,
  mailbox_id: Id,
  status: oneOf(mailboxStatuses),
  event_type: NullableString,
  correlation_id: NullableString,
  ordering_key: NullableString,
  claimed_by: nullableString("The id of the API key that claimed the message or acknowledged it"),
  claim_expires_at: nullable(Timestamp),
  claim_count: Type.Integer(),
  created_at: Timestamp,
  expires_at: Timestamp,
  acknowledged_at: nullable(Timestamp),
  dead_reason: NullableString,
};

export const ListedMessage = Type.Object(fields, { title: "MessageSummary" });

const payload = Type.Unknown({
  description: "The JSON document that was accepted; null once the message has expired or was erased",
});

export const Interventions = Type.Array(
  Type.Object({
    action: oneOf(["force_release", "force_reject"]),
    by: Type.String({ description: "The email address of the user" }),
    at: Timestamp,
    reason: NullableString,
    claimed_by: nullableString("The id of the API key whose claim was ended"),
  }),
  { description: "Interventions of users in the message: forced releases and rejections" },
);

export const ReadableMessage = Type.Object(
  { ...fields, interventions: Interventions, payload },
  { title: "Message" },
);

const ClaimToken = textOf("id", {
  description: "Fencing token of this claim; a later claim of the message has another one",
});

const Traceparent = Type.Optional(
  Type.String({ description: "W3C Trace Context: the parent of the message's trace, if it is traced" }),
);

export const Claimed = Type.Object(
  { ...fields, traceparent: Traceparent, claim_token: ClaimToken, payload },
  { title: "ClaimedMessage" },
);

export const Claim = Type.Object(
  {
    messages: Type.Array(Claimed),
    remaining: Type.Object(
      { ready: Type.Integer(), claimed: Type.Integer() },
      { description: "Messages left in the mailbox, each count up to 100" },
    ),
  },
  { title: "Claim" },
);

export const Acknowledged = Type.Object({ id: Id, status: Type.Literal("ACKNOWLEDGED") });

export const Stats = Type.Object(
  {
    ready: Type.Integer({ description: "Claimable now" }),
    claimed: Type.Integer(),
    delayed: Type.Integer({ description: "Released with a delay that has not passed yet" }),
    blocked: Type.Integer({ description: "Blocked by an earlier message with the same ordering key" }),
    dead: Type.Integer(),
    counts_are_exact: Type.Boolean({
      description:
        "False when the mailbox has more than 2,500 messages that were claimed or released, or more than 10,000 dead ones. Counting then stops at these numbers, and ready is an upper bound",
    }),
    oldest_age_seconds: nullableInteger("Age of the oldest message that is UNREAD"),
    accepted_per_minute: Type.Number({ description: "Over the last five minutes" }),
    acknowledged_per_minute: Type.Number({ description: "Over the last five minutes" }),
  },
  { title: "MailboxStats" },
);

/** The outcome for each message of a batch; `status` is the HTTP status that a request for this message alone would get. */
export const Results = Type.Object(
  {
    results: Type.Array(
      Type.Object({
        id: Type.String(),
        ok: Type.Boolean(),
        status: Type.Integer({
          description: "The HTTP status that a request for this message alone would get",
        }),
        claim_expires_at: Type.Optional(Timestamp),
        error: Type.Optional(Type.String()),
      }),
    ),
  },
  { title: "ClaimResults" },
);

/** The length of a lease; the service's default applies when the body has none. */
export const LeaseSeconds = Type.Integer({ minimum: 5, maximum: 43_200 });

const claim = { id: Type.String({ maxLength: 64 }), claim_token: Type.String({ maxLength: 64 }) };
const batch = { minItems: 1, maxItems: 100 };

export const Claims = Type.Array(Type.Object(claim), batch);

export const Reason = Type.String({ minLength: 1, maxLength: 1000 });

/** Claims whose messages are rejected, each with an optional reason. */
export const RejectedClaims = Type.Array(Type.Object({ ...claim, reason: Type.Optional(Reason) }), batch);
