import type pg from "pg";
import { newSessionToken } from "./newCredential.ts";

/** How long a session lasts. */
const sessionSeconds = 7 * 86_400;
/** The most sessions a user has; one more evicts the oldest. */
const maxSessions = 5;

/**
 * Starts a session and gives its token, whose hash alone is stored. Ends the user's oldest beyond five, by order
 * of login and not by time, because one second may hold several. The caller has locked the user's row: see
 * {@link lockUser}, or has just created it.
 */
export async function startSession(client: pg.ClientBase, userId: string): Promise<string> {
  const { token, hash } = newSessionToken();
  await client.query({
    name: "start_session",
    text: `with kept as (
             select number
             from sessions
             where user_id = $2
               and expires_at > extract(epoch from now())
             order by number desc
             limit $4 - 1
           ),
           ended as (
             delete from sessions
             where user_id = $2
               and number not in (select number from kept)
           )
           insert into sessions (token_hash, user_id, number, created_at, expires_at)
           select $1, $2, coalesce(max(number), 0) + 1, clock.seconds, clock.seconds + $3
           from (select floor(extract(epoch from now()))::bigint as seconds) clock
           left join sessions on user_id = $2
           group by clock.seconds`,
    values: [hash, userId, sessionSeconds, maxSessions],
  });
  return token;
}

/** Locks the user's row until the transaction ends, so that logins are serialized. False: no such user. */
export async function lockUser(client: pg.ClientBase, userId: string): Promise<boolean> {
  const { rowCount } = await client.query({
    name: "lock_user",
    text: `select
           from users
           where id = $1
           for no key update`,
    values: [userId],
  });
  return rowCount === 1;
}

/** Ends one session. */
export async function endSession(pool: pg.Pool, tokenHash: Buffer): Promise<void> {
  await pool.query({
    name: "end_session",
    text: `delete from sessions
           where token_hash = $1`,
    values: [tokenHash],
  });
}

/** Ends every session of a user. */
export async function endSessionsOfUser(pool: pg.Pool, userId: string): Promise<void> {
  await pool.query({
    name: "end_sessions_of_user",
    text: `delete from sessions
           where user_id = $1`,
    values: [userId],
  });
}

/** Ends every session of every user of an organization. */
export async function endSessionsOfOrganization(pool: pg.Pool, orgId: string): Promise<void> {
  await pool.query({
    name: "end_sessions_of_organization",
    text: `delete from sessions
           where user_id in (
             select id
             from users
             where org_id = $1
           )`,
    values: [orgId],
  });
}

/** Deletes sessions that have expired, which no request accepts anyway. @returns how many. */
export async function sweepSessions(pool: pg.Pool): Promise<number> {
  const { rowCount } = await pool.query(
    `delete from sessions
     where expires_at <= extract(epoch from now())`,
  );
  return rowCount ?? 0;
}
