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
    // Ended by another request meanwhile: that one is on record.
    if ((await endSession(client, tokenHash)) === 0) return;
    await recordChange(client, origin, { action: "session.ended", object: { kind: "user", id: userId } });
  });
}

/** Ends every session of the user; of a key's organization, because a key belongs to no user. */
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
