import { isId } from "../../postgres/ids.ts";

/**
 * An error for the caller: the HTTP status and the message of `{"error": message}`. Features throw it, and `errorAnswer.ts` turns
 * it into an answer.
 */
export class ApiError extends Error {
  readonly status: number;
  /** Seconds for a `Retry-After` header; set on 429 and 503. */
  readonly retryAfterSeconds: number | undefined;
  /** The value of `X-Error-Code`, by which a program can tell refusals of the same status apart. */
  readonly code: ErrorCode | undefined;

  /** @param details the code, or several options. */
  constructor(status: number, message: string, details: ErrorCode | ApiErrorOptions = {}) {
    const options: ApiErrorOptions = typeof details === "string" ? { code: details } : details;
    super(message, { cause: options.cause });
    this.name = "ApiError";
    this.status = status;
    this.retryAfterSeconds = options.retryAfterSeconds;
    this.code = options.code;
  }
}

interface ApiErrorOptions {
  cause?: unknown;
  retryAfterSeconds?: number;
  code?: ErrorCode;
}

/** Every value of `X-Error-Code`, with its description in the interface's document. */
export const errorCodes = {
  idempotency_conflict: "the Idempotency-Key was used with another body",
  mailbox_disabled: "the mailbox is disabled",
  message_unclaimed: "nobody has claimed the message",
  claim_lost: "the claim of the message has lapsed, was released, or was replaced by a later claim",
  message_behind: "an earlier message with the same ordering key has not ended",
  message_ended: "the message is acknowledged, dead, canceled or expired",
  payload_gone: "the item exists, but its payload is no longer stored",
  still_queued: "the event waits for its first attempt, or is held for its target",
  still_retrying: "the event waits for its next attempt",
  event_ended: "the event has ended and can no longer be canceled",
  being_sent: "a node is sending the event now",
  message_claimed: "a consumer has claimed the message",
  task_begun: "the agent may have received the item: cancel its task instead",
  task_not_begun: "the agent has not accepted the item yet",
  task_being_answered: "another answer to the agent's task is being sent",
  task_not_waiting: "the agent's task does not wait for input",
  task_not_cancelable: "the agent cannot cancel the task",
  task_ended: "the agent's task has ended, or is no longer followed",
  too_many_replays: "the organization's limit of running replays is reached",
  replay_ended: "the replay is done",
  origin_unconfirmed: "confirm_origin has to name the new origin before the agent's credential is sent there",
  credential_unmet: "the agent's card requires a credential that the target does not have",
  signature_unconfirmed:
    "the card's signature is no longer verified, and confirm_signature has to accept that",
  headers_needed:
    "the target has secret headers for another origin; they have to be sent again with the new url",
  target_enabled: "the target is enabled, so it has no held items to discard",
  discard_unfinished: "only a part of the held items is discarded, and the target is still disabled",
  content_encoding_unsupported: "the body has a Content-Encoding; send it without one",
  host_refused: "the Host header does not name this service",
  origin_refused: "a page of another site sent the request",
  role_too_low: "the user's role does not allow it",
  revealing_is_off: "the organization does not allow its admins to reveal signing secrets",
  scope_refused: "the credential is limited, and its scope does not include this request",
  signup_closed: "signup is not open to everybody",
  too_many_at_once: "the organization's limit of concurrent requests of this kind is reached",
  too_many_targets: "the publication would reach more targets than one request may",
  target_deleted: "the target of the event was deleted",
  uid_taken: "another target of the organization already has this uid",
  own_key: "an API key cannot delete itself",
  last_key: "the organization would have no API key left",
  last_admin: "the organization would have no admin left",
  portal_link_gone: "the link to the portal is unknown, was used, or has expired",
  already_member: "the address belongs to a member of the organization",
  too_many_invitations: "the organization's limit of open invitations is reached",
  invitation_gone: "the invitation is unknown, was used or revoked, or has expired",
  password_wrong: "the present password is wrong",
  reset_gone: "the link to reset a password is unknown, was used or replaced, or has expired",
  mail_disabled: "the service sends no mail",
  billing_disabled: "the service runs without live billing",
  workspace_exempt: "the organization is not billed",
  subscription_exists: "the organization already has a subscription",
  workspace_suspended: "an invoice has to be paid, or payment set up anew, first",
  workspace_pending: "payment has to be set up first",
  outcome_unknown:
    "the connection to the database was lost, or the database did not answer in time: the request may have been carried out",
} as const;

export type ErrorCode = keyof typeof errorCodes;

/** The value of `WWW-Authenticate` in every 401 (RFC 9110, section 15.5.2; RFC 6750, section 3). */
export const challenge = 'Bearer realm="postrider"';

/** The additional headers of an error's answer. */
export function errorHeaders({ status, retryAfterSeconds, code }: ApiError): [name: string, value: string][] {
  const headers: [string, string][] = [];
  if (status === 401) headers.push(["www-authenticate", challenge]);
  // A 415 for a content coding names the accepted codings (RFC 9110, section 15.5.16).
  if (code === "content_encoding_unsupported") headers.push(["accept-encoding", "identity"]);
  if (retryAfterSeconds !== undefined) headers.push(["retry-after", String(retryAfterSeconds)]);
  if (code !== undefined) headers.push(["x-error-code", code]);
  return headers;
}

/** 404 for an unknown id, and for an id of another organization, so that its existence is not disclosed. */
export function notFound(): ApiError {
  return new ApiError(404, "not found");
}

/** The value of a lookup. @throws {ApiError} 404 when it is undefined. */
export function found<T>(value: T | undefined): T {
  if (value === undefined) throw notFound();
  return value;
}

/** The id in a path or a body. @throws {ApiError} 404 for any other text, as for an unknown id. */
export function idOf(text: string): string {
  if (!isId(text)) throw notFound();
  return text;
}

/** 404 for a name that users choose. The message contains the name, unless no object can have such a name. */
export function noneNamed(kind: "customer" | "event type", name: string): ApiError {
  const isName = /^[A-Za-z0-9._:/-]{1,128}$/.test(name);
  return new ApiError(404, isName ? `no ${kind} ${name}` : `no such ${kind}`);
}

/** The value of a lookup by a name that users choose. @throws {ApiError} 404 when it is undefined. */
export function foundNamed<T>(value: T | undefined, kind: "customer" | "event type", name: string): T {
  if (value === undefined) throw noneNamed(kind, name);
  return value;
}

/** 401 for a missing, unknown or revoked credential. */
export function unauthorized(): ApiError {
  return new ApiError(401, "unauthorized");
}

/** Ends the work on an answer that nobody reads any more. */
export function clientGone(): ApiError {
  return new ApiError(503, "the client has disconnected", { retryAfterSeconds: 1 });
}

/** 409 for an item to a disabled mailbox. Disabled targets of other kinds hold their items. */
export function mailboxDisabled(): ApiError {
  return new ApiError(409, "the mailbox is disabled: enable it first", "mailbox_disabled");
}

/** 503 while the queue of passwords to be hashed is full. */
export function tooManySigningIn(): ApiError {
  return new ApiError(503, "too many people are signing in: try again", { retryAfterSeconds: 2 });
}

/** The result of reading a part of a request; `message` says why it could not be read. */
export type Read<T> = { ok: true; value: T } | Unreadable;
type Unreadable = { ok: false; message: string };

export function unreadable(message: string): Unreadable {
  return { ok: false, message };
}

/** The value that was read. @throws {ApiError} 400 with the message when it could not be read. */
export function orInvalid<T>(read: Read<T>): T {
  if (!read.ok) throw new ApiError(400, read.message);
  return read.value;
}

/** An outcome: its name alone, or an object with its name under `kind` or `outcome`. */
type Named<Name> = Name | { kind: Name } | { outcome: Name };
type NameOf<Outcome> = Outcome extends { kind: infer Name }
  ? Name
  : Outcome extends { outcome: infer Name }
    ? Name
    : Outcome;
type Of<Outcome, Name> = Outcome extends unknown ? (NameOf<Outcome> extends Name ? Outcome : never) : never;

/** For each outcome except the wanted one, a function that makes its error. */
type Refusals<Outcome, Wanted> = {
  [Name in Exclude<NameOf<Outcome>, Wanted> & string]: (refused: Of<Outcome, Name>) => Error;
};

/** The outcome, if it is the wanted one. @throws the table's error for any other outcome. */
export function orRefused<Outcome extends Named<string>, Wanted extends NameOf<Outcome> & string>(
  outcome: Outcome,
  wanted: Wanted,
  refusals: Refusals<Outcome, Wanted>,
): Of<Outcome, Wanted> {
  const name = nameOf(outcome);
  if (name === wanted) return outcome as Of<Outcome, Wanted>;
  throw (refusals as unknown as Record<string, (refused: Outcome) => Error>)[name]!(outcome);
}

function nameOf(outcome: Named<string>): string {
  if (typeof outcome === "string") return outcome;
  return "kind" in outcome ? outcome.kind : outcome.outcome;
}

/** 402 for actions that an organization cannot take while an invoice is unpaid. */
export function organizationSuspended(): ApiError {
  return new ApiError(
    402,
    "the organization is suspended: to activate it again, pay the open invoice, or set up payment anew if there is none",
    "workspace_suspended",
  );
}

/** 403 for actions that an organization cannot take before its payment is set up. */
export function organizationPending(): ApiError {
  return new ApiError(403, "the organization is pending: set up payment to activate it", "workspace_pending");
}
