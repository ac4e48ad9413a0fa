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
import { pageBefore } from "../http/contract/schemas.ts";
import { removal, routesOf } from "../http/contract/route.ts";
import { readKeys } from "../http/contract/scope.ts";
import { textOf } from "../http/contract/textForms.ts";
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
  description: "Invitations that were accepted or revoked, or have expired, stay in the list for some weeks.",
  query: pageBefore("invitations"),
  response: { 200: Type.Object({ invitations: Type.Array(Invitation) }) },
  handle: async ({ caller, query }, deps) => ({
    invitations: await listInvitations(deps.pool, caller.orgId, query),
  }),
});

const revokeRoute = route("revokeInvitation", "DELETE /api/v1/invitations/:id", {
  access: users("admin"),
  audit: "invitation.revoked",
  summary: "Revoke an invitation",
  description: "The response is the same if the invitation was already revoked or has expired.",
  errors: { 409: "The invitation was accepted: remove the member instead" },
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
  throw new ApiError(403, "only the operator of this service can create accounts", "signup_closed");
}

const createRoute = route("createInvitation", "POST /api/v1/invitations", {
  access: users("admin"),
  audit: "invitation.created",
  summary: "Create an invitation to the organization",
  description:
    "The service sends no email: send the token or the link to the invited person yourself. The invitation works once and expires after seven days. If `email` is given, only this address can accept the invitation. The status is 503, with `Retry-After`, while a process of an older version that does not know roles is running.",
  body: Type.Object({ role: RoleName, email: Type.Optional(Email) }),
  response: { 200: NewInvitation },
  errors: {
    409: `The address belongs to a member (\`already_member\`), or the organization has ${maxOpenInvitations} open invitations (\`too_many_invitations\`)`,
  },
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
      is_member: () => new ApiError(409, "the address already belongs to a member", "already_member"),
      too_many: () =>
        new ApiError(
          409,
          `the organization has ${maxOpenInvitations} open invitations, which is the maximum: revoke an invitation first`,
          "too_many_invitations",
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
  summary: "Accept an invitation",
  description:
    "Creates a user of the organization, and starts a session. A user belongs to one organization: if the address already has an account, the response has only `message`, as at signup, and the invitation stays open. Rate limited per client address, as logins are.",
  body: Type.Object({
    token: textOf("invitationToken"),
    email: Type.Optional(
      Type.String({
        maxLength: maxEmailCharacters,
        description: "Required if the invitation has no address",
      }),
    ),
    password: Type.String(Password),
    name: Type.Optional(lineOfText({ maxLength: 256, description: "Default: the local part of the email" })),
  }),
  response: {
    200: Type.Union([
      Type.Object({ user: User, session_token: Type.String() }),
      Type.Object({ message: Type.String() }),
    ]),
  },
  errors: {
    403: "Only the operator can create accounts (`signup_closed`)",
    400: "The request is malformed, or the address is not the address of the invitation",
    409: "The organization has the maximum number of members",
    410: "The invitation is unknown, was already used, was revoked, or has expired (`invitation_gone`)",
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
    new ApiError(
      410,
      "the invitation is unknown, was already used, was revoked, or has expired",
      "invitation_gone",
    ),
  invalid: ({ message }: { message: string }) => new ApiError(400, message),
  full: () => new ApiError(409, `the organization has ${maxMembers} members, which is the maximum`),
  overloaded: tooManySigningIn,
};

/** Routes for invitations to become a member, by a link that works once. */
export const invitationRoutes = [listRoute, createRoute, revokeRoute, acceptRoute];
