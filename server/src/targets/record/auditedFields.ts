import { differences, maskedUrl } from "../../audit/differences.ts";
import type { StoredTarget } from "./store.ts";

/**
 * What the audit log tells of a target: these fields and no others, so that a field that holds a secret is not told of
 * because somebody forgot it. Addresses are masked.
 */
export const auditedFields = [
  "kind",
  "uid",
  "customer_uid",
  "metadata",
  "filter",
  "name",
  "description",
  "enabled",
  "disabled_reason",
  "url",
  "event_types",
  "max_payload_bytes",
  "max_retries",
  "retry_interval_seconds",
  "rate_limit_per_second",
  "rate_limit_burst",
  "max_concurrency",
  "max_claims",
] as const satisfies (keyof StoredTarget)[];

type Fields = Readonly<Record<string, unknown>>;

/** A target as it is told of at its beginning and its end. */
export function auditedTarget(target: StoredTarget): Fields {
  const masked = withMaskedUrl(target);
  return Object.fromEntries(auditedFields.map((name) => [name, masked[name]]));
}

/** What differs between a target before and after a change. */
export function auditedChange(before: StoredTarget, after: StoredTarget): { before: Fields; after: Fields } {
  return differences(auditedFields, withMaskedUrl(before), withMaskedUrl(after));
}

function withMaskedUrl(target: StoredTarget): StoredTarget {
  return target.url === null ? target : { ...target, url: maskedUrl(target.url) };
}
