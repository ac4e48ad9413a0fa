import type pg from "pg";
import type { Origin } from "../audit/origin.ts";
import { recordChange } from "../audit/recordChange.ts";
import { type Caller, newCredential } from "../http/contract/credentials.ts";
import { inTransaction } from "../postgres/pool.ts";

/** How long a session lasts. */
const sessionSeconds = 7 * 86_400;
/** Maximum number of a user's sessions; one more ends the oldest. */
const maxSessions = 5;

/**
 * Starts a session and returns its token; only the token's hash is stored. Ends the user's oldest sessions beyond five, by
 * the session's number and not its time, because several may begin in one second. The caller must have locked the user's row
 * (see `lockUser`) or just created it.
 */
export async function startSession(client: pg.ClientBase, userId: string): Promise<string> {
  const { token, hash } = newCredential("ses_");
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

/** Ends the session that a request carries. */
export function logOut(
  pool: pg.Pool,
  origin: Origin,
  { userId, tokenHash }: Extract<Caller, { kind: "session" }>,
): Promise<void> {
  return inTransaction(pool, async (client) => {
    const { rowCount } = await client.query("delete from sessions where token_hash = $1", [tokenHash]);
    // Another request has already ended the session, and written the audit entry.
    if (rowCount === 0) return;
    await recordChange(client, origin, { action: "session.ended", object: { kind: "user", id: userId } });
  });
}

/** Ends every session of the user; for an API key, which belongs to no user, those of all users of its organization. */
export function logOutAll(pool: pg.Pool, origin: Origin, caller: Caller): Promise<void> {
  return inTransaction(pool, async (client) => {
    const isOfUser = caller.kind === "session";
    const ended = isOfUser
      ? await endSessionsOfUser(client, caller.userId)
      : await endSessionsOfOrganization(client, caller.orgId);
    // For a user, another request has already ended the sessions and written the audit entry; an organization had none.
    if (ended === 0) return;
    await recordChange(client, origin, {
      action: "sessions.ended",
      object: isOfUser ? { kind: "user", id: caller.userId } : { kind: "organization", id: caller.orgId },
      after: { sessions_ended: ended },
    });
  });
}

/** Ends every session of a user, except the one whose token has the hash `keptHash`. @returns the number of ended sessions. */
export async function endSessionsOfUser(
  client: pg.ClientBase,
  userId: string,
  keptHash?: Buffer,
): Promise<number> {
  const { rowCount } = await client.query({
    name: "end_sessions_of_user",
    text: `delete from sessions
           where user_id = $1
             and token_hash is distinct from $2`,
    values: [userId, keptHash ?? null],
  });
  return rowCount ?? 0;
}

/** Ends every session of every user of an organization. @returns the number of ended sessions. */
async function endSessionsOfOrganization(client: pg.ClientBase, orgId: string): Promise<number> {
  const { rowCount } = await client.query({
    name: "end_sessions_of_organization",
    text: `delete from sessions
           where user_id in (
             select id
             from users
             where org_id = $1
           )`,
    values: [orgId],
  });
  return rowCount ?? 0;
}
