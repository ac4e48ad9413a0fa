import type pg from "pg";
import { emailKey, requireEmail } from "../accounts/emailAddress.ts";
import { lockOrganization } from "../accounts/organizationStore.ts";
import type { Passwords } from "../accounts/passwords.ts";
import { startSession } from "../accounts/sessionStore.ts";
import { insertUser, type User } from "../accounts/userStore.ts";
import type { RequestTrace } from "../audit/origin.ts";
import { recordChange } from "../audit/recordChange.ts";
import { hashCredential } from "../http/contract/credentials.ts";
import { ApiError } from "../http/contract/errors.ts";
import { newRootId } from "../postgres/ids.ts";
import { inTransaction } from "../postgres/pool.ts";
import { findOpenInvitation, type StoredInvitation, useInvitation } from "./invitationStore.ts";
import { countOfOrganization } from "../postgres/countOfOrganization.ts";
import { maxMembers } from "./memberStore.ts";

export interface AcceptDeps {
  pool: pg.Pool;
  passwords: Passwords;
  nowMs: () => number;
}

export interface Acceptance {
  token: string;
  /** May be left out when the invitation names an address. */
  email?: string | undefined;
  password: string;
  name?: string | undefined;
}

/**
 * Makes whoever has the token a user of the organization, once. Undefined when the address has an account: nothing changes
 * then, and the invitation can still be accepted with another one.
 * @throws {ApiError} 400 for an address of another shape or another than the invitation's, 410 when the invitation cannot
 *   be accepted, 409 when the organization is full, 503 when too many passwords wait to be hashed.
 */
export async function acceptInvitation(
  deps: AcceptDeps,
  input: Acceptance,
  request: RequestTrace,
): Promise<{ user: User; sessionToken: string } | undefined> {
  const invitation = await findOpenInvitation(deps.pool, hashCredential(input.token));
  if (invitation === undefined) throw invitationGone();
  const address = addressFor(invitation, input.email);
  const passwordHash = await deps.passwords.hash(input.password);
  const { org_id: orgId, role } = invitation;
  const nowMs = deps.nowMs();
  const id = newRootId(nowMs);
  return inTransaction(deps.pool, async (client) => {
    await lockOrganization(client, orgId);
    if ((await countOfOrganization(client, "users", orgId)) >= maxMembers) throw tooManyMembers();
    const name = input.name?.trim() || address.localPart;
    const user = await insertUser(client, { id, orgId, role, address, name, passwordHash, nowMs });
    if (user === undefined) return undefined;
    if (!(await useInvitation(client, invitation.id, id))) throw invitationGone();
    const origin = { orgId, actor: { kind: "user", id } as const, request };
    await recordChange(client, origin, {
      action: "member.joined",
      object: { kind: "user", id, name: address.email },
      after: { email: address.email, name, role, invitation_id: invitation.id },
    });
    return { user, sessionToken: await startSession(client, id) };
  });
}

function addressFor(invitation: StoredInvitation, given: string | undefined) {
  const email = given ?? invitation.email;
  if (email === null) throw new ApiError(400, "email is required");
  const address = requireEmail(email);
  if (invitation.email !== null && emailKey(invitation.email) !== address.key) {
    throw new ApiError(400, "email must be the address that the invitation is for");
  }
  return address;
}

/** One answer for all, because it is all that somebody without a valid token is to learn. */
function invitationGone(): ApiError {
  return new ApiError(410, "the invitation is unknown, was used or revoked, or has expired", {
    code: "invitation_gone",
  });
}

function tooManyMembers(): ApiError {
  return new ApiError(409, `the organization has ${maxMembers} members, the most there can be`);
}
