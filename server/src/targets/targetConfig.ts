import type pg from "pg";
import type { SecretBox } from "../items/secretBox.ts";
import { openSigningKey } from "../items/signingSecret.ts";
import { type OpenHeaders, openHeaders } from "./headers.ts";

/** What delivery needs to know of a target, at one version of it. */
export interface TargetConfig {
  id: string;
  orgId: string;
  version: number;
  enabled: boolean;
  url: string;
  /** One key, or two during a rotation; why they cannot be opened otherwise. */
  signing: { keys: Buffer[] } | { fault: string };
  /** Headers of its own with the number of their set; why they cannot be opened otherwise. */
  headers: (OpenHeaders & { set: number }) | { fault: string } | null;
  /** What its owner allows: attempts per second and requests under way, on all nodes together; null is any number. */
  perSecond: number | null;
  maxConcurrency: number | null;
  maxRetries: number;
  retryIntervalSeconds: number;
  /** Unix seconds; null while deliveries succeed. */
  failingSince: number | null;
}

interface Row {
  id: string;
  org_id: string;
  version: number;
  enabled: boolean;
  url: string;
  secret: Buffer | null;
  previous_secret: Buffer | null;
  headers: string | null;
  header_set: number | null;
  rate_limit_per_second: number | null;
  max_concurrency: number | null;
  max_retries: number;
  retry_interval_seconds: number;
  failing_since: number | null;
}

/** The named targets as they are now; the deleted ones are missing. */
export async function loadTargets(
  pool: pg.Pool,
  box: SecretBox,
  targetIds: readonly string[],
): Promise<Map<string, TargetConfig>> {
  const { rows } = await pool.query<Row>({
    name: "load_targets",
    text: `select id, org_id, version, enabled, url, secret, previous_secret, headers, header_set,
             rate_limit_per_second, max_concurrency, max_retries, retry_interval_seconds, failing_since
           from targets
           where id = any ($1::uuid[])
             and kind <> 'mailbox'`,
    values: [targetIds],
  });
  return new Map(rows.map((row) => [row.id, toConfig(box, row)]));
}

function toConfig(box: SecretBox, row: Row): TargetConfig {
  return {
    id: row.id,
    orgId: row.org_id,
    version: row.version,
    enabled: row.enabled,
    url: row.url,
    signing: openSigningKeys(box, row),
    headers: openOwnHeaders(box, row),
    perSecond: row.rate_limit_per_second,
    maxConcurrency: row.max_concurrency,
    maxRetries: row.max_retries,
    retryIntervalSeconds: row.retry_interval_seconds,
    failingSince: row.failing_since,
  };
}

/** A secret that cannot be opened fails its own target only, not the query's others. */
function openSigningKeys(box: SecretBox, { id, secret, previous_secret }: Row): TargetConfig["signing"] {
  try {
    const sealed = [secret, previous_secret].filter((one) => one !== null);
    return { keys: sealed.map((one) => openSigningKey(box, id, one)) };
  } catch (error) {
    return { fault: `the signing secret cannot be opened: ${(error as Error).message}` };
  }
}

function openOwnHeaders(box: SecretBox, { id, headers, header_set: set }: Row): TargetConfig["headers"] {
  if (headers === null || set === null) return null;
  try {
    return { ...openHeaders(box, id, headers), set };
  } catch (error) {
    return { fault: `the target's headers cannot be opened: ${(error as Error).message}` };
  }
}

/** How long a target must have failed every attempt before it is disabled. */
const failingLimitSeconds = 5 * 86_400;

/**
 * Notes that an attempt failed and that the target is the reason.
 * @returns true when it had failed every attempt for five days and is now disabled.
 */
export async function noteFailure(pool: pg.Pool, targetId: string, nowSeconds: number): Promise<boolean> {
  const { rows } = await pool.query<{ enabled: boolean }>({
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
             and enabled
             and (failing_since is null or failing_since <= $3)
           returning enabled`,
    values: [targetId, nowSeconds, nowSeconds - failingLimitSeconds],
  });
  return rows[0]?.enabled === false;
}

/** Notes that a target that had been failing took a delivery. */
export async function noteRecovery(pool: pg.Pool, targetId: string): Promise<void> {
  await pool.query({
    name: "note_recovery",
    text: `update targets
           set failing_since = null,
             version = version + 1
           where id = $1
             and failing_since is not null`,
    values: [targetId],
  });
}

/** Disables a target whose receiver answered that it wants no more deliveries. */
export async function disableTarget(
  pool: pg.Pool,
  targetId: string,
  reason: string,
  nowSeconds: number,
): Promise<void> {
  await pool.query({
    name: "disable_target",
    text: `update targets
           set enabled = false,
             disabled_reason = $2,
             version = version + 1,
             updated_at = $3
           where id = $1
             and enabled`,
    values: [targetId, reason, nowSeconds],
  });
}
