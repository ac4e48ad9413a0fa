import type pg from "pg";

/*
 * States that only time, a payment processor, a crash, an operator or an earlier version brings about, set at once. Everything else that
 * tests need is asked for through the interface.
 */

/** Lets an organization have a billing state; a grace ends in so many seconds. @returns when it does, in Unix seconds. */
export async function setBillingStatus(
  pool: Pick<pg.Pool, "query">,
  { org_id: orgId }: { org_id: string },
  status: string,
  graceEndsInSeconds: number | null = null,
): Promise<number | null> {
  const { rows } = await pool.query<{ ends_at: number | null }>(
    `update organizations
     set billing_status = $2,
       billing_grace_ends_at = extract(epoch from now())::bigint + $3
     where id = $1
     returning billing_grace_ends_at as ends_at`,
    [orgId, status, graceEndsInSeconds],
  );
  return rows[0]!.ends_at;
}

/** Lets every attempt at a target have failed for so many seconds, as all processes are to know. */
export async function setFailingFor(
  pool: Pick<pg.Pool, "query">,
  targetId: string,
  seconds: number,
): Promise<void> {
  await pool.query(
    `update targets
     set failing_since = extract(epoch from now())::bigint - $2,
       version = version + 1
     where id = $1`,
    [targetId, seconds],
  );
}

/** Lets a target have been disabled for this reason, with attempts that had failed for long. */
export async function setDisabled(pool: pg.Pool, targetId: string, reason: string): Promise<void> {
  await pool.query(
    "update targets set enabled = false, disabled_reason = $2, failing_since = 1 where id = $1",
    [targetId, reason],
  );
}

/** Spoils a webhook's signing secret, as a wrong encryption key does. */
export async function spoilSecret(pool: pg.Pool, targetId: string): Promise<void> {
  await pool.query("update targets set secret = '\\x00', version = version + 1 where id = $1", [targetId]);
}

/** Lets tasks that have ended not name the items of their results, as version 1.0.0 stored them. */
export async function forgetResults(pool: pg.Pool, eventIds: readonly string[]): Promise<void> {
  const { rowCount } = await pool.query(
    "update handoffs set result_event_id = null where event_id = any ($1) and result_event_id is not null",
    [eventIds],
  );
  if (rowCount !== eventIds.length) throw new Error(`${rowCount} of ${eventIds.length} had a result`);
}

/** Stores the erasure of an event whose process died between the request and the work. */
export async function storeErasure(pool: pg.Pool, eventId: string): Promise<void> {
  await pool.query(
    `insert into erasures (id, org_id, event_id, created_by, created_at)
     select gen_random_uuid(), org_id, id, 'x', 0 from events where id = $1`,
    [eventId],
  );
}
