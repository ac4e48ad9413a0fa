import type pg from "pg";

/** A user's address, for what is written down beside items and outlives the user; null for one that is gone. */
export async function emailOf(pool: pg.Pool, userId: string): Promise<string | null> {
  const { rows } = await pool.query<{ email: string }>({
    name: "email_of",
    text: "select email from users where id = $1",
    values: [userId],
  });
  return rows[0]?.email ?? null;
}
