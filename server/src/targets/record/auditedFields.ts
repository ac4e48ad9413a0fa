import { differences, maskedUrl } from "../../audit/differences.ts";
import type { StoredTarget } from "./store.ts";

/**
 * The fields of a target in the audit log. It is a list of what is shown, so that a forgotten field with a secret stays hidden.
 * Addresses are masked.
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

/** A target as the audit log has it when it is made and when it is deleted. */
export function auditedTarget(target: StoredTarget): Fields {
  const masked = withMaskedUrl(target);
  return Object.fromEntries(auditedFields.map((name) => [name, masked[name]]));
}

/** The fields that differ between a target before and after a change. */
export function auditedChange(before: StoredTarget, after: StoredTarget): { before: Fields; after: Fields } {
  return differences(auditedFields, withMaskedUrl(before), withMaskedUrl(after));
}

function withMaskedUrl(target: StoredTarget): StoredTarget {
  return target.url === null ? target : { ...target, url: maskedUrl(target.url) };
}
