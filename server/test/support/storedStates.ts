import type pg from "pg";

/*
 * States that only time, a payment processor or an operator brings about, set at once. Everything else that tests need is
 * asked for through the interface.
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
