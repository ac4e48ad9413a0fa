import type { PasswordDeps } from "../accounts/changePassword.ts";
import { emailKey, type EmailAddress, readEmail } from "../accounts/emailAddress.ts";
import { countOfOrganization, lockOrganization } from "../accounts/organizationStore.ts";
import { startSession } from "../accounts/sessionStore.ts";
import { insertUser } from "../accounts/userStore.ts";
import type { User } from "../accounts/schemas.ts";
import type { RequestTrace } from "../audit/origin.ts";
import { recordChange } from "../audit/recordChange.ts";
import { hashCredential } from "../http/contract/credentials.ts";
import { type Read, unreadable } from "../http/contract/errors.ts";
import { newRootId } from "../postgres/ids.ts";
import { inTransaction } from "../postgres/pool.ts";
import { findOpenInvitation, type StoredInvitation, useInvitation } from "./invitationStore.ts";
import { maxMembers } from "./memberStore.ts";

export interface Acceptance {
  token: string;
  /** Optional when the invitation has an address. */
  email?: string | undefined;
  password: string;
  name?: string | undefined;
}

export type AcceptOutcome =
  | { outcome: "joined"; user: User; sessionToken: string }
  /** The invitation is unknown, was used or revoked, or has expired. */
  | { outcome: "gone" }
  /** The email is missing, malformed, or differs from the invitation's. */
  | { outcome: "invalid"; message: string }
  /** The organization has `maxMembers` users. */
  | { outcome: "full" }
  /** The address already has an account. The invitation can still be accepted with another address. */
  | { outcome: "email_taken" }
  | { outcome: "overloaded" };

/** Creates a user in the organization for the holder of an invitation's token, which works once. */
export async function acceptInvitation(
  deps: PasswordDeps,
  input: Acceptance,
  request: RequestTrace,
): Promise<AcceptOutcome> {
  const invitation = await findOpenInvitation(deps.pool, hashCredential(input.token));
  if (invitation === undefined) return { outcome: "gone" };
  const read = addressFor(invitation, input.email);
  if (!read.ok) return { outcome: "invalid", message: read.message };
  const address = read.value;
  const passwordHash = await deps.passwords.hash(input.password);
  if (passwordHash === undefined) return { outcome: "overloaded" };
  const { org_id: orgId, role } = invitation;
  const nowMs = deps.nowMs();
  const id = newRootId(nowMs);
  return inTransaction(deps.pool, async (client) => {
    await lockOrganization(client, orgId);
    if ((await countOfOrganization(client, "users", orgId)) >= maxMembers) return { outcome: "full" };
    await client.query("savepoint member");
    const name = input.name?.trim() || address.localPart;
    const user = await insertUser(client, { id, orgId, role, address, name, passwordHash, nowMs });
    if (user === undefined) return { outcome: "email_taken" };
    // The user is created first, because the invitation's row refers to it.
    if (!(await useInvitation(client, invitation.id, id))) {
      await client.query("rollback to savepoint member");
      return { outcome: "gone" };
    }
    const origin = { orgId, actor: { kind: "user", id } as const, request };
    await recordChange(client, origin, {
      action: "member.joined",
      object: { kind: "user", id, name: address.email },
      after: { email: address.email, name, role, invitation_id: invitation.id },
    });
    return { outcome: "joined", user, sessionToken: await startSession(client, id) };
  });
}

/** Reads the given address, or the invitation's if none is given. A given address must be the invitation's, if it has one. */
function addressFor(invitation: StoredInvitation, given: string | undefined): Read<EmailAddress> {
  const email = given ?? invitation.email;
  if (email === null) return unreadable("email is required");
  const address = readEmail(email);
  if (address.ok && invitation.email !== null && emailKey(invitation.email) !== address.value.key) {
    return unreadable("email must be the address of the invitation");
  }
  return address;
}
