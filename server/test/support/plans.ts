/** A node of a plan in EXPLAIN's JSON output. */
export interface Plan {
  "Node Type": string;
  "Relation Name"?: string;
  "Shared Hit Blocks": number;
  "Shared Read Blocks": number;
  Plans?: Plan[];
}

/** Prefix of a statement that makes it return its plan as its only row: see {@link planIn}. */
export const explaining = "explain (analyze, buffers, timing off, format json)";

export interface ExplainRow {
  "QUERY PLAN": [{ Plan: Plan }];
}

export function planIn(rows: readonly ExplainRow[]): Plan {
  return rows[0]!["QUERY PLAN"][0].Plan;
}

/**
 * Tables with these names that were read completely by a sequential scan. Empty ones, such as the partition of a
 * future day, are left out.
 */
export function wholeReads(plan: Plan, tables: RegExp): string[] {
  const below = (plan.Plans ?? []).flatMap((part) => wholeReads(part, tables));
  const table = plan["Relation Name"] ?? "";
  return plan["Node Type"] === "Seq Scan" && blocksOf([plan]) > 0 && tables.test(table)
    ? [...below, table]
    : below;
}

/** Number of database pages that were read, from memory or not. */
export function blocksOf(plans: readonly Plan[]): number {
  return plans.reduce((sum, plan) => sum + plan["Shared Hit Blocks"] + plan["Shared Read Blocks"], 0);
}
