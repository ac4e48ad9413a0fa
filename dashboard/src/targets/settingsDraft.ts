import type { Target, TargetChanges } from "../api/shapes.ts";
import { isUid, uidRule } from "../customers/customerQueries.ts";
import { eventTypesOf } from "./eventTypesText.ts";
import { filterProblem } from "./filterText.ts";
import { metadataOf, metadataProblem, metadataText } from "../customers/metadataText.ts";

/** A target's settings as they stand in the form: texts. */
export type Draft = Record<
  | "name"
  | "description"
  | "customer_uid"
  | "uid"
  | "metadata"
  | "filter"
  | "url"
  | "event_types"
  | "max_retries"
  | "retry_interval_seconds"
  | "rate_limit_per_second"
  | "rate_limit_burst"
  | "max_concurrency"
  | "max_claims",
  string
>;

/** Numbers that may be left empty: the service's own choice. */
const optional = ["rate_limit_per_second", "rate_limit_burst", "max_concurrency", "max_claims"] as const;

export function draftOf(target: Target): Draft {
  return {
    name: target.name,
    description: target.description,
    customer_uid: target.customer_uid ?? "",
    uid: target.uid ?? "",
    metadata: metadataText(target.metadata),
    filter: metadataText(target.filter),
    url: target.url ?? "",
    event_types: (target.event_types ?? []).join(", "),
    max_retries: String(target.max_retries ?? 8),
    retry_interval_seconds: String(target.retry_interval_seconds ?? 30),
    rate_limit_per_second: textOf(target.rate_limit_per_second),
    rate_limit_burst: textOf(target.rate_limit_burst),
    max_concurrency: textOf(target.max_concurrency),
    max_claims: textOf(target.max_claims),
  };
}

function textOf(value: number | null | undefined): string {
  return value === null || value === undefined ? "" : String(value);
}

/** The faults of the texts by field, before the service is asked. */
export function problemOf(draft: Draft): Partial<Draft> {
  const problems: Partial<Draft> = {};
  for (const name of ["customer_uid", "uid"] as const)
    if (draft[name] !== "" && !isUid(draft[name])) problems[name] = uidRule;
  const metadata = metadataProblem(draft.metadata);
  if (metadata !== undefined) problems.metadata = metadata;
  const filter = filterProblem(draft.filter);
  if (filter !== undefined) problems.filter = filter;
  if (!isWhole(draft.max_retries, 0, 50)) problems.max_retries = "A whole number from 0 to 50";
  if (!isWhole(draft.retry_interval_seconds, 1, 86_400))
    problems.retry_interval_seconds = "A whole number from 1 to 86400";
  if (draft.max_claims !== "" && !isWhole(draft.max_claims, 1, 1000))
    problems.max_claims = "A whole number from 1 to 1000, or nothing";
  const rate = draft.rate_limit_per_second;
  if (rate !== "" && !(/^\d{0,5}(\.\d{1,3})?$/.test(rate) && Number(rate) >= 0.001 && Number(rate) <= 10_000))
    problems.rate_limit_per_second = "A number from 0.001 to 10000, or nothing";
  if (draft.rate_limit_burst !== "" && !isWhole(draft.rate_limit_burst, 1, 10_000))
    problems.rate_limit_burst = "A whole number from 1 to 10000, or nothing";
  if (draft.max_concurrency !== "" && !isWhole(draft.max_concurrency, 1, 256))
    problems.max_concurrency = "A whole number from 1 to 256, or nothing";
  return problems;
}

/** Only what differs from the target as it is. */
export function toChanges(target: Target, draft: Draft): TargetChanges {
  const before = draftOf(target);
  const changes: TargetChanges = {};
  for (const name of ["name", "url"] as const)
    if (draft[name].trim() !== before[name]) changes[name] = draft[name].trim();
  if (draft.description !== before.description) changes.description = draft.description;
  for (const name of ["customer_uid", "uid"] as const)
    if (draft[name] !== before[name]) changes[name] = draft[name] === "" ? null : draft[name];
  if (draft.metadata !== before.metadata)
    changes.metadata = draft.metadata.trim() === "" ? null : metadataOf(draft.metadata);
  if (draft.filter !== before.filter)
    changes.filter = draft.filter.trim() === "" ? null : metadataOf(draft.filter);
  if (draft.event_types !== before.event_types) changes.event_types = eventTypesOf(draft.event_types);
  if (draft.max_retries !== before.max_retries) changes.max_retries = Number(draft.max_retries);
  if (draft.retry_interval_seconds !== before.retry_interval_seconds)
    changes.retry_interval_seconds = Number(draft.retry_interval_seconds);
  for (const name of optional)
    if (draft[name] !== before[name]) changes[name] = draft[name] === "" ? null : Number(draft[name]);
  return changes;
}

function isWhole(text: string, low: number, high: number): boolean {
  return /^\d{1,6}$/.test(text) && Number(text) >= low && Number(text) <= high;
}
