import type pg from "pg";

/*
 * States that only time, a payment processor, a crash, an operator or an earlier version would cause, stored
 * directly. All other data of tests is created through the interface.
 */

/**
 * Sets the billing state of an organization; a grace period ends in that many seconds.
 * @returns its end in Unix seconds.
 */
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

/** Records that every attempt at a target has failed for that many seconds, visible to all processes. */
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

/** Disables a target for this reason, as after a long time of failed attempts. */
export async function setDisabled(pool: pg.Pool, targetId: string, reason: string): Promise<void> {
  await pool.query(
    "update targets set enabled = false, disabled_reason = $2, failing_since = 1 where id = $1",
    [targetId, reason],
  );
}

/** Makes a webhook's signing secret unreadable, as a wrong encryption key does. */
export async function spoilSecret(pool: pg.Pool, targetId: string): Promise<void> {
  await pool.query("update targets set secret = '\\x00', version = version + 1 where id = $1", [targetId]);
}

/** Removes the ids of the result items from ended tasks, as version 1.0.0 stored them. */
export async function forgetResults(pool: pg.Pool, eventIds: readonly string[]): Promise<void> {
  const { rowCount } = await pool.query(
    "update handoffs set result_event_id = null where event_id = any ($1) and result_event_id is not null",
    [eventIds],
  );
  if (rowCount !== eventIds.length) throw new Error(`${rowCount} of ${eventIds.length} had a result`);
}

/** Stores the erasure of an event as if its process had died between the request and the work. */
export async function storeErasure(pool: pg.Pool, eventId: string): Promise<void> {
  await pool.query(
    `insert into erasures (id, org_id, event_id, created_by, created_at)
     select gen_random_uuid(), org_id, id, 'x', 0 from events where id = $1`,
    [eventId],
  );
}
