import { createHash } from "node:crypto";
import { readSqlFiles } from "./migrations.ts";
import { functions } from "./sql/functions.generated.ts";

/** The files with this version's SQL functions. */
export const functionFiles = readSqlFiles(new URL("./sql/", import.meta.url));

/**
 * Planner settings of every function that the service calls. A plan must depend neither on the parameters of the first call
 * nor on statistics from a time when a table was empty: a plan that reads a whole index or table costs five times as much or
 * more, for the whole life of the session.
 */
const plannerSettings = [
  "plan_cache_mode = force_generic_plan",
  "jit = off",
  "enable_seqscan = off",
  "enable_bitmapscan = off",
  "enable_hashjoin = off",
  "enable_mergejoin = off",
] as const;

/**
 * The settings for a database with or without distributed cells. Citus makes a distributed plan only with the values of the
 * parameters, so generic plans are not forced there.
 */
export function plannerSettingsOn(isDistributed: boolean): readonly string[] {
  if (!isDistributed) return plannerSettings;
  return ["plan_cache_mode = auto", ...plannerSettings.filter((one) => !one.startsWith("plan_cache_mode"))];
}

/**
 * Functions with planner settings of their own. fold_activity joins thousands of steps with their histograms; the planner
 * expects hundreds, and a nested loop would compare every step with every histogram. Without nested loops the estimated cost
 * exceeds the limit from which PostgreSQL compiles a statement, which took 0.8 s in each call.
 */
export const ownSettings: ReadonlyMap<string, readonly string[]> = new Map([
  ["fold_activity", ["jit = off", "enable_nestloop = off"]],
]);

/**
 * Functions that this version's TypeScript calls. Functions that only other functions call run with the settings of their
 * callers, and need not set them again in each call.
 */
export const calledFunctions: ReadonlySet<string> = new Set(Object.keys(functions));

/** The schema of this version's functions; other versions and working copies have schemas of their own beside it. */
export const functionSchema = `postrider_f_${digestOf([functionFiles, plannerSettings, [...ownSettings], [...calledFunctions]])}`;

/** Regular expression (PostgreSQL syntax) for all names that {@link functionSchema} can have. */
export const functionSchemaPattern = "^postrider_f_[0-9a-f]{12}$";

function digestOf(content: unknown): string {
  return createHash("sha256").update(JSON.stringify(content)).digest("hex").slice(0, 12);
}
