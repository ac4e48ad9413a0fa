import type { PasswordDeps } from "../accounts/changePassword.ts";
import { emailKey, type EmailAddress, readEmail } from "../accounts/emailAddress.ts";
import { countOfOrganization, lockOrganization } from "../accounts/organizationStore.ts";
import { startSession } from "../accounts/sessionStore.ts";
import { insertUser } from "../accounts/userStore.ts";
import type { User } from "../accounts/schemas.ts";
import type { RequestTrace } from "../audit/origin.ts";
import { recordChange } from "../audit/recordChange.ts";
import { hashCredential } from "../http/contract/credentials.ts";
import { newRootId } from "../postgres/ids.ts";
import { inTransaction } from "../postgres/pool.ts";
import { findOpenInvitation, type StoredInvitation, useInvitation } from "./invitationStore.ts";
import { maxMembers } from "./memberStore.ts";
import { ApiError, invalid, orInvalid } from "../http/contract/errors.ts";

export interface Acceptance {
  token: string;
  /** Optional when the invitation names an address. */
  email?: string | undefined;
  password: string;
  name?: string | undefined;
}

/**
 * Makes the holder of an invitation's token a user of the organization, once.
 * @returns undefined when the address has an account: the invitation can still be accepted with another one.
 * @throws {ApiError} 410 when the invitation is unknown, was used or revoked, or has expired; 400 when the email is missing, malformed,
 *   or not the invitation's; 409 when the organization has as many users as it may.
 */
export async function acceptInvitation(
  deps: PasswordDeps,
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
    if ((await countOfOrganization(client, "users", orgId)) >= maxMembers) {
      throw new ApiError(409, `the organization has ${maxMembers} members, the most there can be`);
    }
    const name = input.name?.trim() || address.localPart;
    const user = await insertUser(client, { id, orgId, role, address, name, passwordHash, nowMs });
    if (user === undefined) return undefined;
    // The user is created first, because the invitation's row refers to it.
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

/** One message for every invitation that cannot be accepted: a caller without a valid token learns no more. */
function invitationGone(): ApiError {
  return new ApiError(
    410,
    "the invitation is unknown, was used or revoked, or has expired",
    "invitation_gone",
  );
}

/** Reads the given address, or takes the invitation's; an invitation with an address is for that one alone. */
function addressFor(invitation: StoredInvitation, given: string | undefined): EmailAddress {
  const email = given ?? invitation.email;
  if (email === null) throw invalid("email is required");
  const address = orInvalid(readEmail(email));
  if (invitation.email !== null && emailKey(invitation.email) !== address.key) {
    throw invalid("email must be the address that the invitation is for");
  }
  return address;
}
