import type { Cells } from "../postgres/cells.ts";
import type { CellParts } from "./assembleCell.ts";

/**
 * What is asked for without it being known in which cell the answer is: the reach of limited keys, notices of agents, and whether
 * items are accepted at all.
 */
export function acrossCells(parts: readonly CellParts[], cells: Cells): CellParts[] {
  if (parts.length === 1) return [...parts];
  const reach: CellParts["reach"] = (orgId, scope, thing) =>
    parts[cells.ofOrg(orgId).number]!.reach(orgId, scope, thing);
  const [first, ...others] = parts.map((part) => ({ ...part, reach }));
  const handoffs = {
    ...first!.handoffs,
    // The item that a token names is in one of them; to the others it is one that has ended.
    async notified(token: string): Promise<boolean> {
      const known = await Promise.all(parts.map((part) => part.handoffs.notified(token)));
      return known.includes(true);
    },
  };
  const intake = {
    ...first!.intake,
    trouble: () => parts.map((part) => part.intake.trouble()).find((trouble) => trouble !== undefined),
    forgetTrouble() {
      for (const part of parts) part.intake.forgetTrouble();
    },
  };
  return [{ ...first!, handoffs, intake }, ...others];
}
