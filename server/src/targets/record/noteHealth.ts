import type pg from "pg";
import { newEntryId } from "../../audit/recordChange.ts";

/** How long a target must have failed every attempt before it is disabled. */
const failingLimitSeconds = 5 * 86_400;

/** A receiver's answer that changes what is known of its target. */
export interface HealthNote {
  targetId: string;
  /** The event whose delivery shows it. */
  eventId: string;
  nowSeconds: number;
}

/**
 * Notes that an attempt failed and that the target is the reason.
 * @returns true when it had failed every attempt for five days and is now disabled.
 */
export async function noteFailure(
  pool: pg.Pool,
  { targetId, eventId, nowSeconds }: HealthNote,
): Promise<boolean> {
  const { rows } = await pool.query<{ enabled: boolean }>({
    name: "note_failure",
    text: `with changed as (
             update targets
             set failing_since = coalesce(failing_since, $2),
               enabled = coalesce(failing_since, $2) > $3,
               disabled_reason = case
                 when failing_since <= $3 then 'every delivery failed for 5 days'
                 else disabled_reason
               end,
               version = version + 1,
               updated_at = case when failing_since <= $3 then $2 else updated_at end
             where id = $1
               and enabled
               and (failing_since is null or failing_since <= $3)
             returning id, org_id, name, enabled, disabled_reason
           ),
           ${recorded("$5")}
           select c.enabled, case when not c.enabled then
             note_operational_event('target.disabled', c.org_id, c.id, array[$4::uuid], c.disabled_reason)
           end as is_told
           from changed c`,
    values: [targetId, nowSeconds, nowSeconds - failingLimitSeconds, eventId, newEntryId()],
  });
  return rows[0]?.enabled === false;
}

/** A target that failed for less than this and delivers again makes no operational event. */
const tellingRecoverySeconds = 300;

/** Notes that a target that had been failing took a delivery. */
export async function noteRecovery(
  pool: pg.Pool,
  { targetId, eventId, nowSeconds }: HealthNote,
): Promise<void> {
  await pool.query({
    name: "note_recovery",
    text: `with former as (
             select id, failing_since
             from targets
             where id = $1
               and failing_since is not null
             for update
           ),
           changed as (
             update targets t
             set failing_since = null,
               version = t.version + 1
             from former f
             where t.id = f.id
             returning t.id, t.org_id, f.failing_since
           )
           select case when c.failing_since <= $2 then
             note_operational_event('target.recovered', c.org_id, c.id, array[$3::uuid], 'a delivery was taken')
           end as is_told
           from changed c`,
    values: [targetId, nowSeconds - tellingRecoverySeconds, eventId],
  });
}

/** Disables a target whose receiver answered that it wants no more deliveries. */
export async function disableTarget(
  pool: pg.Pool,
  { targetId, eventId, nowSeconds }: HealthNote,
  reason: string,
): Promise<void> {
  await pool.query({
    name: "disable_target",
    text: `with changed as (
             update targets
             set enabled = false,
               disabled_reason = $2,
               version = version + 1,
               updated_at = $3
             where id = $1
               and enabled
             returning id, org_id, name, enabled, disabled_reason
           ),
           ${recorded("$5")}
           select note_operational_event('target.disabled', c.org_id, c.id, array[$4::uuid], c.disabled_reason)
             as is_told
           from changed c`,
    values: [targetId, reason, nowSeconds, eventId, newEntryId()],
  });
}

/** The audit log's entry of a target that the service disables, as a part of the statement that does. */
function recorded(entryId: string): string {
  return `recorded as (
             insert into audit_log
               (id, org_id, action, actor_kind, actor_name, object_kind, object_id, object_name, before, after)
             select ${entryId}::uuid, org_id, 'target.disabled', 'service', 'delivery', 'target', id, name,
               '{"enabled": true}',
               jsonb_build_object('enabled', false, 'disabled_reason', disabled_reason)
             from changed
             where not enabled
           )`;
}
