import { createHash } from "node:crypto";
import { readSqlFiles } from "./migrations.ts";

/** The SQL functions that this version of the service came with, by file. */
export const functionFiles = readSqlFiles(new URL("./sql/", import.meta.url));

/**
 * The planner's settings of every function that the service calls. A plan must not depend on the parameters of the
 * call that happened to be first, nor on statistics from a time when a table was empty: one that reads a whole index or table
 * costs five times as much and more, for as long as the session lives.
 */
const plannerSettings = [
  "plan_cache_mode = force_generic_plan",
  "jit = off",
  "enable_seqscan = off",
  "enable_bitmapscan = off",
  "enable_hashjoin = off",
  "enable_mergejoin = off",
] as const;

/** The same where Citus has placed the cells on servers: it makes no distributed plan without the parameters' values. */
export function plannerSettingsOn(isDistributed: boolean): readonly string[] {
  if (!isDistributed) return plannerSettings;
  return ["plan_cache_mode = auto", ...plannerSettings.filter((one) => !one.startsWith("plan_cache_mode"))];
}

/**
 * Functions with planner's settings of their own. It joins thousands of steps with their histograms, where the planner expects
 * hundreds, and a nested loop would compare all with all. Without nested loops the estimates pass the limit from which PostgreSQL
 * compiles a statement: that took 0.8 s of each call.
 */
export const ownSettings: ReadonlyMap<string, readonly string[]> = new Map([
  ["fold_activity", ["jit = off", "enable_nestloop = off"]],
]);

/** Functions that only others call: they run under their caller's settings and need not set them again each time. */
export const innerFunctions = [
  "try_lock_message_keys",
  "lock_message_keys",
  "unpark_messages",
  "choose_keyed_messages",
  "message_refusal",
  "bury_messages",
  "return_messages",
  "return_message_of_key",
  "put_message",
  "last_position",
  "lock_claim_ids",
  "repeated_requests",
  "repeat_claims",
  "remember_claims",
  "narrow_choice",
  "choose_returned_messages",
  "count_within_bytes",
  "left_in_mailbox",
  "store_replays",
  "cancel_locked_deliveries",
  "cancel_message",
  "lock_message",
  "withdraw_message",
  "withdraw_delivery",
  "erase_answers",
  "note_dead_messages",
  "make_operational_items",
  "publication_targets_of",
  "erase_publication",
  "idempotency_winners",
  "store_published_items",
] as const;

/** The schema of this version's functions: another version, or another working copy, has other ones beside it. */
export const functionSchema = `postrider_f_${digestOf([functionFiles, plannerSettings, [...ownSettings], innerFunctions])}`;

/** Names that {@link functionSchema} can have, as a regular expression of PostgreSQL. */
export const functionSchemaPattern = "^postrider_f_[0-9a-f]{12}$";

function digestOf(content: unknown): string {
  return createHash("sha256").update(JSON.stringify(content)).digest("hex").slice(0, 12);
}
