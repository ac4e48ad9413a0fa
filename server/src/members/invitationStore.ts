import type pg from "pg";
import type { Static } from "typebox";
import { emailKey } from "../accounts/emailAddress.ts";
import { newCredential } from "../http/contract/credentials.ts";
import { lockAsAdmin } from "../accounts/organizationStore.ts";
import type { Origin } from "../audit/origin.ts";
import { recordChange } from "../audit/recordChange.ts";
import type { Role } from "../http/contract/access.ts";
import { newRootId } from "../postgres/ids.ts";
import { newestFirst, type NewestFirst } from "../postgres/newestFirst.ts";
import { inTransaction } from "../postgres/pool.ts";
import type { Invitation } from "./schemas.ts";

/** How long an invitation can be accepted. */
const invitationSeconds = 7 * 86_400;
/** How long an invitation is still listed after its expiry. */
export const listedSeconds = 30 * 86_400;
/** Maximum number of open invitations of an organization. */
export const maxOpenInvitations = 100;

export type StoredInvitation = Static<typeof Invitation>;

export type CreateInvitationOutcome =
  | { outcome: "created"; invitation: StoredInvitation; token: string }
  /** The user is no longer an admin. */
  | { outcome: "not_admin" }
  /** The address already belongs to a member. */
  | { outcome: "is_member" }
  /** The organization has `maxOpenInvitations` open invitations. */
  | { outcome: "too_many" };

/** Creates an invitation by an admin. Its token is returned here once; only its hash is stored. */
export function createInvitation(
  pool: pg.Pool,
  origin: Origin,
  { role, email, userId, nowMs }: { role: Role; email: string | null; userId: string; nowMs: number },
): Promise<CreateInvitationOutcome> {
  const { orgId } = origin;
  return inTransaction(pool, async (client) => {
    if ((await lockAsAdmin(client, origin)) === undefined) return { outcome: "not_admin" };
    if (email !== null && (await isMember(client, orgId, email))) return { outcome: "is_member" };
    if ((await countOpen(client, orgId)) >= maxOpenInvitations) return { outcome: "too_many" };
    const id = newRootId(nowMs);
    const { token, hash } = newCredential("inv_");
    const { rows } = await client.query<StoredInvitation>({
      name: "create_invitation",
      text: `insert into invitations as i (id, org_id, role, email, token_hash, created_by, created_at, expires_at)
             select $1, $2, $3, $4, $5, $6, clock.seconds, clock.seconds + $7
             from (select floor(extract(epoch from clock_timestamp()))::bigint as seconds) clock
             returning ${columns}`,
      values: [id, orgId, role, email, hash, userId, invitationSeconds],
    });
    await recordChange(client, origin, {
      action: "invitation.created",
      object: { kind: "invitation", id, name: email },
      after: { role, email },
    });
    return { outcome: "created", invitation: rows[0]!, token };
  });
}

/** The organization's invitations, newest first. */
export function listInvitations(
  pool: pg.Pool,
  orgId: string,
  page: NewestFirst,
): Promise<StoredInvitation[]> {
  const select = `select ${columns} from invitations i`;
  return newestFirst(pool, { name: "list_invitations", select }, orgId, page);
}

export type RevokeOutcome =
  | "revoked"
  /** The organization has no such invitation. */
  | "not_found"
  | "accepted";

/** Revokes an invitation; does nothing if it is already revoked or has expired. */
export function revokeInvitation(pool: pg.Pool, origin: Origin, id: string): Promise<RevokeOutcome> {
  return inTransaction(pool, async (client) => {
    const { rows } = await client.query<StoredInvitation>({
      name: "lock_invitation",
      text: `select ${columns}
             from invitations i
             where i.org_id = $1
               and i.id = $2
             for update`,
      values: [origin.orgId, id],
    });
    const invitation = rows[0];
    if (invitation === undefined) return "not_found";
    if (invitation.status === "ACCEPTED") return "accepted";
    if (invitation.status !== "OPEN") return "revoked";
    await revoke(client, origin, invitation);
    return "revoked";
  });
}

/**
 * Revokes the open invitations of a user who is no longer an admin and could use one of these links to come back. The caller must
 * have locked the organization.
 */
export async function revokeInvitationsOf(
  client: pg.ClientBase,
  origin: Origin,
  userId: string,
): Promise<void> {
  const { rows } = await client.query<StoredInvitation>({
    name: "lock_invitations_of_user",
    text: `select ${columns}
           from invitations i
           where i.org_id = $1
             and i.created_by = $2
             and ${open}
           order by i.id
           for update`,
    values: [origin.orgId, userId],
  });
  for (const invitation of rows) await revoke(client, origin, invitation);
}

async function revoke(client: pg.ClientBase, origin: Origin, invitation: StoredInvitation): Promise<void> {
  const { id, role, email } = invitation;
  await client.query({
    name: "revoke_invitation",
    text: `update invitations
           set revoked_at = floor(extract(epoch from clock_timestamp()))
           where id = $1`,
    values: [id],
  });
  await recordChange(client, origin, {
    action: "invitation.revoked",
    object: { kind: "invitation", id, name: email },
    before: { role, email },
  });
}

/** Finds an open invitation by its token's hash; undefined when there is none. */
export async function findOpenInvitation(
  pool: pg.Pool,
  tokenHash: Buffer,
): Promise<(StoredInvitation & { org_id: string }) | undefined> {
  const { rows } = await pool.query<StoredInvitation & { org_id: string }>({
    name: "find_open_invitation",
    text: `select ${columns}, i.org_id
           from invitations i
           where i.token_hash = $1
             and ${open}`,
    values: [tokenHash],
  });
  return rows[0];
}

/** Marks an invitation as accepted by a user. @returns false when the invitation was used or revoked before, or has expired. */
export async function useInvitation(client: pg.ClientBase, id: string, userId: string): Promise<boolean> {
  const { rowCount } = await client.query({
    name: "use_invitation",
    text: `update invitations i
           set accepted_at = floor(extract(epoch from clock_timestamp())),
             accepted_by = $2
           where i.id = $1
             and ${open}`,
    values: [id, userId],
  });
  return rowCount === 1;
}

async function isMember(client: pg.ClientBase, orgId: string, email: string): Promise<boolean> {
  const { rowCount } = await client.query({
    name: "find_member_by_email",
    text: `select
           from users
           where email_key = $1
             and org_id = $2`,
    values: [emailKey(email), orgId],
  });
  return rowCount !== 0;
}

async function countOpen(client: pg.ClientBase, orgId: string): Promise<number> {
  const { rows } = await client.query<{ count: number }>({
    name: "count_open_invitations",
    text: `select count(*) as count
           from invitations i
           where i.org_id = $1
             and ${open}`,
    values: [orgId],
  });
  return rows[0]!.count;
}

const open = `i.accepted_at is null
  and i.revoked_at is null
  and i.expires_at > extract(epoch from clock_timestamp())`;

const columns = `i.id, i.role, i.email, i.created_by, i.created_at, i.expires_at, i.accepted_at, i.accepted_by,
  i.revoked_at,
  case
    when i.accepted_at is not null then 'ACCEPTED'
    when i.revoked_at is not null then 'REVOKED'
    when i.expires_at <= extract(epoch from clock_timestamp()) then 'EXPIRED'
    else 'OPEN'
  end as status`;
