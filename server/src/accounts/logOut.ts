import type pg from "pg";
import type { Origin } from "../audit/origin.ts";
import { recordChange } from "../audit/recordChange.ts";
import type { Caller } from "../http/contract/credentials.ts";
import { inTransaction } from "../postgres/pool.ts";
import { endSession, endSessionsOfOrganization, endSessionsOfUser } from "./sessionStore.ts";

/** Ends the session that a request carries. */
export function logOut(
  pool: pg.Pool,
  origin: Origin,
  { userId, tokenHash }: Extract<Caller, { kind: "session" }>,
): Promise<void> {
  return inTransaction(pool, async (client) => {
    // Another request has ended the session meanwhile, and has written the audit entry.
    if ((await endSession(client, tokenHash)) === 0) return;
    await recordChange(client, origin, { action: "session.ended", object: { kind: "user", id: userId } });
  });
}

/** Ends every session of the user, or, for an API key, which belongs to no user, of every user of its organization. */
export function logOutAll(pool: pg.Pool, origin: Origin, caller: Caller): Promise<void> {
  return inTransaction(pool, async (client) => {
    const isOfUser = caller.kind === "session";
    const ended = isOfUser
      ? await endSessionsOfUser(client, caller.userId)
      : await endSessionsOfOrganization(client, caller.orgId);
    await recordChange(client, origin, {
      action: "sessions.ended",
      object: isOfUser ? { kind: "user", id: caller.userId } : { kind: "organization", id: caller.orgId },
      after: { sessions_ended: ended },
    });
  });
}
