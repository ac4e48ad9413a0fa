import type pg from "pg";

/** Reads a user's email address, for records that outlive the user; null for a deleted user. */
export async function emailOf(pool: pg.Pool, userId: string): Promise<string | null> {
  const { rows } = await pool.query<{ email: string }>({
    name: "email_of",
    text: "select email from users where id = $1",
    values: [userId],
  });
  return rows[0]?.email ?? null;
}
