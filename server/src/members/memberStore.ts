import type pg from "pg";
import { unknownId } from "../postgres/ids.ts";
import type { Static } from "typebox";
import { lockAsAdmin } from "../accounts/organizationStore.ts";
import { recordChange } from "../audit/recordChange.ts";
import type { Origin } from "../audit/origin.ts";
import type { Role } from "../http/contract/access.ts";
import { inTransaction } from "../postgres/pool.ts";
import { revokeInvitationsOf } from "./invitationStore.ts";
import type { Member } from "./schemas.ts";

export const maxMembers = 200;

export type StoredMember = Static<typeof Member>;

/** The organization's users, oldest first. @param after the id of the last user of the previous page. */
export async function listMembers(
  pool: pg.Pool,
  { orgId, after, limit }: { orgId: string; after: string | undefined; limit: number },
): Promise<StoredMember[]> {
  const { rows } = await pool.query<StoredMember>({
    name: "list_members",
    text: `${ofOrganization}
             and u.id > $2
           order by u.id
           limit $3`,
    values: [orgId, after ?? unknownId, limit],
  });
  return rows;
}

export type MemberRefusal =
  /** The user who makes the change is no longer an admin. */
  | "not_admin"
  /** The organization has no such user. */
  | "not_found"
  /** The change would leave the organization without an admin. */
  | "last_admin";

export type ChangeRoleOutcome = { outcome: "changed"; member: StoredMember } | { outcome: MemberRefusal };

/** Changes a user's role, from the user's next request on. Revokes the open invitations of a user who was an admin. */
export function changeRole(
  pool: pg.Pool,
  origin: Origin,
  { userId, role }: { userId: string; role: Role },
): Promise<ChangeRoleOutcome> {
  return inTransaction(pool, async (client) => {
    const member = await lockMember(client, origin, userId);
    if (typeof member === "string") return { outcome: member };
    if (member.role === role) return { outcome: "changed", member };
    if (role !== "admin" && (await isLastAdmin(client, origin.orgId, member))) {
      return { outcome: "last_admin" };
    }
    await client.query("update users set role = $2 where id = $1", [userId, role]);
    if (member.role === "admin") await revokeInvitationsOf(client, origin, userId);
    await recordChange(client, origin, {
      action: "member.role_changed",
      object: { kind: "user", id: userId, name: member.email },
      before: { role: member.role },
      after: { role },
    });
    return { outcome: "changed", member: { ...member, role } };
  });
}

/**
 * Removes a user: deletes the account and its sessions, and revokes the user's open invitations. API keys belong to the
 * organization and stay.
 */
export function removeMember(
  pool: pg.Pool,
  origin: Origin,
  userId: string,
): Promise<"removed" | MemberRefusal> {
  return inTransaction(pool, async (client) => {
    const member = await lockMember(client, origin, userId);
    if (typeof member === "string") return member;
    if (await isLastAdmin(client, origin.orgId, member)) return "last_admin";
    const { email, name, role } = member;
    await recordChange(client, origin, {
      action: "member.removed",
      object: { kind: "user", id: userId, name: email },
      before: { email, name, role },
    });
    await revokeInvitationsOf(client, origin, userId);
    await client.query("delete from users where id = $1", [userId]);
    return "removed";
  });
}

/** Locks the organization's row, which serializes all changes of its users, and reads and locks the user. */
async function lockMember(
  client: pg.ClientBase,
  origin: Origin,
  userId: string,
): Promise<StoredMember | Exclude<MemberRefusal, "last_admin">> {
  if ((await lockAsAdmin(client, origin)) === undefined) return "not_admin";
  const { rows } = await client.query<StoredMember>({
    name: "lock_member",
    text: `${ofOrganization}
             and u.id = $2
           for update of u`,
    values: [origin.orgId, userId],
  });
  return rows[0] ?? "not_found";
}

async function isLastAdmin(client: pg.ClientBase, orgId: string, member: StoredMember): Promise<boolean> {
  if (member.role !== "admin") return false;
  const { rowCount } = await client.query({
    name: "find_another_admin",
    text: `select
           from users
           where org_id = $1
             and role = 'admin'
             and id <> $2
           limit 1`,
    values: [orgId, member.id],
  });
  return rowCount === 0;
}

const columns = `u.id, u.email, u.name, u.role, u.created_at,
  (
    select max(s.created_at)
    from sessions s
    where s.user_id = u.id
      and s.expires_at > extract(epoch from clock_timestamp())
  ) as last_login_at`;

const ofOrganization = `select ${columns}
  from users u
  where u.org_id = $1`;
