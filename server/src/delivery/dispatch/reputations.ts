import type { Standing } from "./admission.ts";

/** What is remembered of targets that have nothing in memory or under way. */
export interface Reputations {
  remember(targetId: string, standing: Standing): void;
  /** Gives what was remembered, and forgets it; `untried` when that is nothing. */
  recall(targetId: string): Standing;
  of(targetId: string): Standing;
}

/** Some megabytes. */
const maxRemembered = 65_536;

export function createReputations(): Reputations {
  const known = new Map<string, Standing>();
  const of = (targetId: string): Standing => known.get(targetId) ?? "untried";
  return {
    of,
    remember(targetId, standing) {
      // Last of all, and so the last to give way.
      known.delete(targetId);
      if (standing === "untried") return;
      known.set(targetId, standing);
      if (known.size <= maxRemembered) return;
      const [oldest] = known.keys();
      known.delete(oldest!);
    },
    recall(targetId) {
      const standing = of(targetId);
      known.delete(targetId);
      return standing;
    },
  };
}
