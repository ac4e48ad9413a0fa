import type pg from "pg";
import { newCredential } from "../http/contract/credentials.ts";

/** How long a link to reset a password works. */
export const resetMinutes = 30;

/**
 * Creates the token of a user's reset link; only its hash is stored. The user's earlier link stops working. The caller must
 * have locked the user's row, see `lockUser`.
 */
export async function startReset(client: pg.ClientBase, userId: string): Promise<string> {
  const { token, hash } = newCredential("rst_");
  await client.query({
    name: "start_password_reset",
    text: `insert into password_resets (user_id, token_hash, expires_at)
           values ($1, $2, floor(extract(epoch from clock_timestamp()))::bigint + $3)
           on conflict (user_id) do update
           set token_hash = excluded.token_hash,
             expires_at = excluded.expires_at`,
    values: [userId, hash, resetMinutes * 60],
  });
  return token;
}

/** Finds the user of a link by its token's hash; undefined when there is none or it has expired. */
export async function findReset(pool: pg.Pool, tokenHash: Buffer): Promise<string | undefined> {
  const { rows } = await pool.query<{ user_id: string }>({
    name: "find_password_reset",
    text: `select user_id
           from password_resets
           where token_hash = $1
             and expires_at > extract(epoch from clock_timestamp())`,
    values: [tokenHash],
  });
  return rows[0]?.user_id;
}

/** Deletes the link that the user follows. @returns false when the link was used or replaced before, or has expired. */
export async function useReset(client: pg.ClientBase, tokenHash: Buffer): Promise<boolean> {
  const { rowCount } = await client.query({
    name: "use_password_reset",
    text: `delete from password_resets
           where token_hash = $1
             and expires_at > extract(epoch from clock_timestamp())`,
    values: [tokenHash],
  });
  return rowCount === 1;
}
