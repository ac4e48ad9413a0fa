import type pg from "pg";
import { openSigningKey, type SecretBox } from "../../items/secretBox.ts";
import { type OpenHeaders, openHeaders } from "./headers.ts";

/** A target as deliveries need it, at one version of it. */
export interface TargetConfig {
  id: string;
  orgId: string;
  version: number;
  enabled: boolean;
  url: string;
  /** One key, or two during a rotation, or the reason why they cannot be opened. */
  signing: { keys: Buffer[] } | { fault: string };
  /** The target's own headers with the number of their set, or the reason why they cannot be opened. */
  headers: (OpenHeaders & { set: number }) | { fault: string } | null;
  /** The owner's limits of attempts per second and of requests under way, on all nodes together; null is any number. */
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

/** The targets of these ids as they are now; deleted ones are missing. */
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
             and not is_pulled(kind_number(kind))`,
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
