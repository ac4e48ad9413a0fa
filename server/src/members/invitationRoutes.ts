import { Type } from "typebox";
import { maxEmailCharacters, readEmail } from "../accounts/emailAddress.ts";
import { countRequest } from "../accounts/rateLimit.ts";
import { Password, RoleName, takenMessage, User } from "../accounts/schemas.ts";
import { originOf, traceOf } from "../audit/origin.ts";
import type { Config } from "../config/config.ts";
import { anyone, users, usersAndKeys } from "../http/contract/access.ts";
import {
  ApiError,
  notFound,
  orInvalid,
  orRefused,
  tooManySigningIn,
  unauthorized,
} from "../http/contract/errors.ts";
import { lineOfText } from "../http/contract/plainText.ts";
import { pageCursor } from "../http/contract/schemas.ts";
import { removal, routesOf } from "../http/contract/route.ts";
import { readKeys } from "../http/contract/scope.ts";
import type { PasswordDeps } from "../accounts/changePassword.ts";
import { acceptInvitation } from "./acceptInvitation.ts";
import {
  createInvitation,
  listInvitations,
  maxOpenInvitations,
  revokeInvitation,
} from "./invitationStore.ts";
import { maxMembers } from "./memberStore.ts";
import { Invitation, NewInvitation } from "./schemas.ts";
import examples from "./examples.json" with { type: "json" };

const route = routesOf<InvitationDeps>("Members");

export interface InvitationDeps extends PasswordDeps {
  config: Pick<Config, "loginLimit" | "publicUrl" | "signup">;
}

const Email = Type.String({ maxLength: maxEmailCharacters, examples: ["grace@example.com"] });

const listRoute = route("listInvitations", "GET /api/v1/invitations", {
  access: usersAndKeys("admin", readKeys),
  summary: "List invitations, newest first",
  description: "Invitations that are over are listed for some weeks.",
  query: Type.Object({
    limit: Type.Integer({ minimum: 1, maximum: 100, default: 50 }),
    before: Type.Optional(pageCursor("The id of the last invitation of the page before")),
  }),
  response: { 200: Type.Object({ invitations: Type.Array(Invitation) }) },
  handle: async ({ caller, query: { limit, before = null } }, deps) => ({
    invitations: await listInvitations(deps.pool, { orgId: caller.orgId, before, limit }),
  }),
});

const revokeRoute = route("revokeInvitation", "DELETE /api/v1/invitations/:id", {
  access: users("admin"),
  audit: "invitation.revoked",
  summary: "Revoke an invitation",
  description: "Answers the same when it was revoked before or has expired.",
  errors: { 409: "It was accepted: there is a member to remove" },
  ...removal(async (call, id, deps: InvitationDeps) =>
    orRefused(await revokeInvitation(deps.pool, originOf(call), id), "revoked", {
      not_found: notFound,
      accepted: () => new ApiError(409, "the invitation was accepted: remove the member instead"),
    }),
  ),
});

/** @throws {ApiError} 403 when only operators may create accounts. */
function refuseWhereClosed(signup: Config["signup"]): void {
  if (signup !== "closed") return;
  throw new ApiError(403, "only the operator of this service creates accounts", "signup_closed");
}

const createRoute = route("createInvitation", "POST /api/v1/invitations", {
  access: users("admin"),
  audit: "invitation.created",
  summary: "Invite somebody to the organization",
  description:
    "No mail is sent for it: hand the token or the link over yourself. It works once, for seven days, and only with the given address if there is one. 503 with `Retry-After` while a process of a version runs that knows no roles.",
  body: Type.Object({ role: RoleName, email: Type.Optional(Email) }),
  response: { 200: NewInvitation },
  errors: { 409: `The address is a member's, or ${maxOpenInvitations} invitations are open` },
  examples: examples.createInvitation,
  async handle(call, deps) {
    const { body, caller } = call;
    if (caller.kind !== "session") throw notFound();
    refuseWhereClosed(deps.config.signup);
    const email = body.email === undefined ? null : orInvalid(readEmail(body.email)).email;
    const input = { role: body.role, email, userId: caller.userId, nowMs: deps.nowMs() };
    const created = await createInvitation(deps.pool, originOf(call), input);
    const { invitation, token } = orRefused(created, "created", {
      not_admin: unauthorized,
      is_member: () => new ApiError(409, "the address is that of a member already"),
      too_many: () =>
        new ApiError(
          409,
          `the organization has ${maxOpenInvitations} open invitations, the most there can be: revoke one first`,
        ),
    });
    const { id, role, created_by, created_at, expires_at } = invitation;
    const { publicUrl } = deps.config;
    const url = publicUrl === undefined ? null : `${publicUrl}/join#${token}`;
    return { id, role, email, created_by, created_at, expires_at, token, url };
  },
});

const acceptRoute = route("acceptInvitation", "POST /api/v1/invitations/accept", {
  access: anyone,
  audit: "member.joined",
  summary: "Accept an invitation: become a user of the organization, with a session",
  description:
    "For whoever has no account yet; a user belongs to one organization. An address that has an account is answered with `message` only, as at signup, and the invitation stays open. Counted per client address as logins are.",
  body: Type.Object({
    token: Type.String({ pattern: "^inv_[0-9a-f]{64}$" }),
    email: Type.Optional(
      Type.String({
        maxLength: maxEmailCharacters,
        description: "Needed unless the invitation names an address",
      }),
    ),
    password: Type.String(Password),
    name: Type.Optional(
      lineOfText({ maxLength: 256, description: "The local part of the email unless given" }),
    ),
  }),
  response: {
    200: Type.Union([
      Type.Object({ user: User, session_token: Type.String() }),
      Type.Object({ message: Type.String() }),
    ]),
  },
  errors: {
    403: "Only operators make accounts here (`signup_closed`)",
    400: "The request is malformed, or the address is another than the invitation's",
    409: "The organization is full",
    410: "The invitation is unknown, was used or revoked, or has expired (`invitation_gone`)",
    429: "Too many requests from this address",
    503: "Too many logins are in progress, or the database cannot be reached",
  },
  examples: examples.acceptInvitation,
  async handle(call, deps) {
    refuseWhereClosed(deps.config.signup);
    if (deps.passwords.isFull()) throw tooManySigningIn();
    await countRequest(deps.pool, { scope: "invitation", limit: deps.config.loginLimit }, call);
    const accepted = await acceptInvitation(deps, call.body, traceOf(call.request));
    if (accepted.outcome === "email_taken") return { message: takenMessage };
    const { user, sessionToken } = orRefused(accepted, "joined", acceptRefusals);
    return { user, session_token: sessionToken };
  },
});

const acceptRefusals = {
  // The same message for every invitation that cannot be accepted, so that a caller without a valid token learns nothing.
  gone: () =>
    new ApiError(410, "the invitation is unknown, was used or revoked, or has expired", "invitation_gone"),
  invalid: ({ message }: { message: string }) => new ApiError(400, message),
  full: () => new ApiError(409, `the organization has ${maxMembers} members, the most there can be`),
  overloaded: tooManySigningIn,
};

/** Routes for invitations to become a member, by a link that works once. */
export const invitationRoutes = [listRoute, createRoute, revokeRoute, acceptRoute];
