import type pg from "pg";
import { newRootId } from "../postgres/ids.ts";
import type { EmailAddress } from "./emailAddress.ts";

/** A user as the interface shows it. */
export interface User {
  id: string;
  email: string;
  name: string;
  org_id: string;
  role: "admin";
}

export interface NewUser {
  orgId: string;
  address: EmailAddress;
  name: string;
  passwordHash: string;
  nowMs: number;
}

/**
 * Creates a user, unless the address has one already: then undefined. Waits for a concurrent creation of the same
 * address to end.
 */
export async function insertUser(client: pg.ClientBase, user: NewUser): Promise<User | undefined> {
  const { rows } = await client.query<User>({
    name: "insert_user",
    text: `insert into users (id, org_id, email, email_key, name, role, password_hash, created_at)
           values ($1, $2, $3, $4, $5, 'admin', $6, $7)
           on conflict (email_key) do nothing
           returning id, email, name, org_id, role`,
    values: [
      newRootId(user.nowMs),
      user.orgId,
      user.address.email,
      user.address.key,
      user.name,
      user.passwordHash,
      Math.floor(user.nowMs / 1000),
    ],
  });
  return rows[0];
}

/** The user of an address as compared, with the hash of the password. */
export async function findUserByEmail(
  pool: pg.Pool,
  emailKey: string,
): Promise<{ user: User; passwordHash: string } | undefined> {
  const { rows } = await pool.query<User & { password_hash: string }>({
    name: "find_user_by_email",
    text: `select id, email, name, org_id, role, password_hash
           from users
           where email_key = $1`,
    values: [emailKey],
  });
  if (rows[0] === undefined) return undefined;
  const { password_hash: passwordHash, ...user } = rows[0];
  return { user, passwordHash };
}

export async function readUser(pool: pg.Pool, userId: string): Promise<User | undefined> {
  const { rows } = await pool.query<User>({
    name: "read_user",
    text: `select id, email, name, org_id, role
           from users
           where id = $1`,
    values: [userId],
  });
  return rows[0];
}
