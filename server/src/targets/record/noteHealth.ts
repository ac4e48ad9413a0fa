import type pg from "pg";
import { recordChange } from "../../audit/recordChange.ts";
import { inTransaction } from "../../postgres/pool.ts";
import type { TargetRow } from "../../postgres/tables.ts";

/*
 * Targets are locked first, and then updated with a condition on their key alone. On Citus, each copy of such a row is updated by
 * itself, and the coordinator's copy is read as of before the wait for the lock. A condition on a column that other transactions
 * change could therefore hold for one copy and not for another.
 */

/** A target is disabled when every attempt has failed for this long. */
const failingLimitSeconds = 5 * 86_400;

/** A receiver's answer that changes the health of its target. */
export interface HealthNote {
  targetId: string;
  /** The URL that answered. A target that has another URL meanwhile is left as it is: its new receiver has not answered. */
  url: string;
  /** The event whose delivery got the answer. */
  eventId: string;
  nowSeconds: number;
}

/**
 * Records that an attempt failed because of the target.
 * @returns true when every attempt has failed for five days, so that the target is now disabled.
 */
export async function noteFailure(
  pool: pg.Pool,
  { targetId, url, eventId, nowSeconds }: HealthNote,
): Promise<boolean> {
  const longAgo = nowSeconds - failingLimitSeconds;
  return inTransaction(pool, async (client) => {
    if (!(await lockEnabled(client, { targetId, url }, longAgo))) return false;
    const { rows } = await client.query<Changed & { enabled: boolean }>({
      name: "note_failure",
      text: `update targets
             set failing_since = coalesce(failing_since, $2),
               enabled = coalesce(failing_since, $2) > $3,
               disabled_reason = case
                 when failing_since <= $3 then 'every delivery failed for 5 days'
                 else disabled_reason
               end,
               version = version + 1,
               updated_at = case when failing_since <= $3 then $2 else updated_at end
             where id = $1
             returning id, org_id, name, enabled, disabled_reason`,
      values: [targetId, nowSeconds, longAgo],
    });
    const isDisabled = rows[0]?.enabled === false;
    if (isDisabled) await recordDisabled(client, rows[0]!, eventId);
    return isDisabled;
  });
}

/** A recovery makes no operational event if the target had been failing for less than this. */
const tellingRecoverySeconds = 300;

/** Records that a target that had been failing accepted a delivery. */
export async function noteRecovery(
  pool: pg.Pool,
  { targetId, url, eventId, nowSeconds }: HealthNote,
): Promise<void> {
  await inTransaction(pool, async (client) => {
    // Locks the row unconditionally: a failure in an open transaction is not visible yet, and must be waited for.
    const { rows } = await client.query<{ org_id: string; url: string; failing_since: number | null }>({
      name: "lock_recovered",
      text: `select org_id, failing_since, url
             from targets
             where id = $1
             for update`,
      values: [targetId],
    });
    const failingSince = rows[0]?.failing_since ?? null;
    if (rows[0] === undefined || rows[0].url !== url || failingSince === null) return;
    await client.query({
      name: "note_recovery",
      text: "update targets set failing_since = null, version = version + 1 where id = $1",
      values: [targetId],
    });
    if (failingSince > nowSeconds - tellingRecoverySeconds) return;
    await client.query({
      name: "tell_recovery",
      text: "select note_operational_event('target.recovered', $1, $2, array[$3::uuid], 'a delivery was taken')",
      values: [rows[0].org_id, targetId, eventId],
    });
  });
}

/** Disables a target whose receiver answered that it wants no more deliveries. */
export async function disableTarget(
  pool: pg.Pool,
  { targetId, url, eventId, nowSeconds }: HealthNote,
  reason: string,
): Promise<void> {
  await inTransaction(pool, async (client) => {
    if (!(await lockEnabled(client, { targetId, url }))) return;
    const { rows } = await client.query<Changed>({
      name: "disable_target",
      text: `update targets
             set enabled = false,
               disabled_reason = $2,
               version = version + 1,
               updated_at = $3
             where id = $1
             returning id, org_id, name, disabled_reason`,
      values: [targetId, reason, nowSeconds],
    });
    if (rows[0] !== undefined) await recordDisabled(client, rows[0], eventId);
  });
}

/**
 * Locks a target if it is enabled and still has this URL.
 * @param failingUntil if given, the target is locked only if it is not failing or has been failing since this time or earlier.
 * @returns whether the target is locked.
 */
async function lockEnabled(
  client: pg.PoolClient,
  { targetId, url }: Pick<HealthNote, "targetId" | "url">,
  failingUntil?: number,
): Promise<boolean> {
  const { rowCount } = await client.query({
    name: "lock_enabled",
    text: `select id
           from targets
           where id = $1
             and enabled
             and url = $3
             and ($2::bigint is null or failing_since is null or failing_since <= $2)
           for no key update`,
    values: [targetId, failingUntil ?? null, url],
  });
  return rowCount === 1;
}

type Changed = Pick<TargetRow, "id" | "org_id" | "name" | "disabled_reason">;

/** Writes the audit log's entry for a target that the service disabled, and an operational event for the organization. */
async function recordDisabled(client: pg.PoolClient, target: Changed, eventId: string): Promise<void> {
  const { id, org_id: orgId, name, disabled_reason: reason } = target;
  await recordChange(
    client,
    { orgId, actor: { kind: "service", name: "delivery" } },
    {
      action: "target.disabled",
      object: { kind: "target", id, name },
      before: { enabled: true },
      after: { enabled: false, disabled_reason: reason },
    },
  );
  await client.query({
    name: "tell_disabled",
    text: "select note_operational_event('target.disabled', $1, $2, array[$3::uuid], $4)",
    values: [orgId, id, eventId, reason],
  });
}
