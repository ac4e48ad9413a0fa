import type pg from "pg";
import type { Role } from "../http/contract/access.ts";
import type { EmailAddress } from "./emailAddress.ts";
import type { User } from "./schemas.ts";

export interface NewUser {
  id: string;
  orgId: string;
  role: Role;
  address: EmailAddress;
  name: string;
  passwordHash: string;
  nowMs: number;
}

/**
 * Creates a user; undefined when the address has an account already. Waits for a concurrent creation with the same
 * address to end.
 */
export async function insertUser(client: pg.ClientBase, user: NewUser): Promise<User | undefined> {
  const { rows } = await client.query<User>({
    name: "insert_user",
    text: `insert into users (id, org_id, email, email_key, name, role, password_hash, created_at)
           values ($1, $2, $3, $4, $5, $6, $7, $8)
           on conflict (email_key) do nothing
           returning id, email, name, org_id, role`,
    values: [
      user.id,
      user.orgId,
      user.address.email,
      user.address.key,
      user.name,
      user.role,
      user.passwordHash,
      Math.floor(user.nowMs / 1000),
    ],
  });
  return rows[0];
}

/** Finds a user, and the hash of the user's password, by id or by the address's `emailKey`. */
export async function findUser(
  pool: pg.Pool,
  column: "id" | "email_key",
  value: string,
): Promise<{ user: User; passwordHash: string } | undefined> {
  const { rows } = await pool.query<User & { password_hash: string }>({
    name: `find_user_by_${column}`,
    text: `select id, email, name, org_id, role, password_hash
           from users
           where ${column} = $1`,
    values: [value],
  });
  if (rows[0] === undefined) return undefined;
  const { password_hash: passwordHash, ...user } = rows[0];
  return { user, passwordHash };
}

/**
 * Locks the user's row until the transaction ends, so that logins and password changes are serialized.
 * @param passwordHash the hash against which the caller verified a password.
 * @returns false when there is no such user, or the stored hash is no longer `passwordHash`.
 */
export async function lockUser(
  client: pg.ClientBase,
  userId: string,
  passwordHash?: string,
): Promise<boolean> {
  const { rowCount } = await client.query({
    name: "lock_user",
    text: `select
           from users
           where id = $1
             and password_hash = coalesce($2, password_hash)
           for no key update`,
    values: [userId, passwordHash ?? null],
  });
  return rowCount === 1;
}
