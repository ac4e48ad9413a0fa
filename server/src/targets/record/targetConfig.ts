import type pg from "pg";
import { openSigningKey, type SecretBox } from "../../items/secretBox.ts";
import { type OpenHeaders, openHeaders } from "./headers.ts";

/** One version of a target's configuration, for its deliveries. */
export interface TargetConfig {
  id: string;
  orgId: string;
  version: number;
  enabled: boolean;
  url: string;
  /** One signing key, two during a rotation, or the reason why they cannot be decrypted. */
  signing: { keys: Buffer[] } | { fault: string };
  /** The target's own headers with the number of their set, or the reason why they cannot be decrypted. */
  headers: (OpenHeaders & { set: number }) | { fault: string } | null;
  /** The owner's limits of attempts per second and of requests in flight, on all nodes together; null for no limit. */
  perSecond: number | null;
  maxConcurrency: number | null;
  maxRetries: number;
  retryIntervalSeconds: number;
  /** Unix seconds; null while deliveries succeed. */
  failingSince: number | null;
}

type Row = Omit<TargetConfig, "signing" | "headers"> & {
  secret: Buffer | null;
  previousSecret: Buffer | null;
  headers: string | null;
  headerSet: number | null;
};

/** The present configurations of these targets. Deleted targets are not in the map. */
export async function loadTargets(
  pool: pg.Pool,
  box: SecretBox,
  targetIds: readonly string[],
): Promise<Map<string, TargetConfig>> {
  const { rows } = await pool.query<Row>({
    name: "load_targets",
    text: `select id, org_id as "orgId", version, enabled, url, secret, previous_secret as "previousSecret", headers,
             header_set as "headerSet", rate_limit_per_second as "perSecond", max_concurrency as "maxConcurrency",
             max_retries as "maxRetries", retry_interval_seconds as "retryIntervalSeconds",
             failing_since as "failingSince"
           from targets
           where id = any ($1::uuid[])
             and not is_pulled(kind_number(kind))`,
    values: [targetIds],
  });
  return new Map(rows.map((row) => [row.id, toConfig(box, row)]));
}

function toConfig(box: SecretBox, row: Row): TargetConfig {
  const { secret, previousSecret, headers, headerSet, ...config } = row;
  return {
    ...config,
    signing: openSigningKeys(box, config.id, [secret, previousSecret]),
    headers: openOwnHeaders(box, config.id, headers, headerSet),
  };
}

/** If a target's secret cannot be decrypted, only that target gets a fault; other targets of the query do not fail. */
function openSigningKeys(box: SecretBox, id: string, secrets: (Buffer | null)[]): TargetConfig["signing"] {
  try {
    const sealed = secrets.filter((one) => one !== null);
    return { keys: sealed.map((one) => openSigningKey(box, id, one)) };
  } catch (error) {
    return { fault: `the signing secret cannot be opened: ${(error as Error).message}` };
  }
}

function openOwnHeaders(
  box: SecretBox,
  id: string,
  headers: string | null,
  set: number | null,
): TargetConfig["headers"] {
  if (headers === null || set === null) return null;
  try {
    return { ...openHeaders(box, id, headers), set };
  } catch (error) {
    return { fault: `the target's headers cannot be opened: ${(error as Error).message}` };
  }
}
