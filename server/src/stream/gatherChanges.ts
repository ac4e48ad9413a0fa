import type { Change, ChangeType } from "../items/changes.ts";

/** One server-sent event, without its id. */
export interface Frame {
  type: ChangeType | "summary" | "reset";
  /** Event data as JSON. */
  data: string;
}

/** With more changes than this in one turn, only counts are sent, because a page cannot show more. */
const maxChanges = 50;
/** Targets beyond this number share the entry without a `target_id`. */
const maxTargets = 40;
/** A change with longer JSON is only counted, because it must fit into a PostgreSQL notification. */
const maxChangeBytes = 2_000;

/** Counts of a target, used when there are too many changes to send each. */
type ChangeCounts = Record<"accepted" | "delivered" | "retried" | "failed", number>;

/** Collects the changes of one organization during one turn. */
export class GatheredChanges {
  readonly #sinceMs: number;
  readonly #counts = new Map<string, ChangeCounts>();
  /** The latest change of each subject whose changes only tell clients to read it again. */
  readonly #subjects = new Map<string, Frame>();
  #frames: Frame[] = [];
  #isSummary = false;

  constructor(nowMs: number) {
    this.#sinceMs = nowMs;
  }

  add(targetId: string, change: Change): void {
    if (change.type === "item") {
      // A canceled item is reported too, but does not increase a count.
      const isNew = change.data.status !== "CANCELED";
      this.#countsOf(targetId).accepted += isNew ? 1 : 0;
    }
    if (change.type === "attempt") this.#countsOf(targetId)[counted[change.data.outcome]]++;
    if (change.type === "target" || change.type === "mailbox" || change.type === "handoff") {
      const data = JSON.stringify(change.data);
      this.#subjects.set(`${change.type} ${data}`, { type: change.type, data });
      return;
    }
    this.#isSummary ||= this.#frames.length === maxChanges;
    // At a high rate, single changes are not serialized.
    if (this.#isSummary) return;
    const data = JSON.stringify(change.data);
    if (data.length <= maxChangeBytes) this.#frames.push({ type: change.type, data });
    else this.#isSummary = true;
  }

  /**
   * Returns the frames of this turn: each change, or counts. If more subjects changed than the limit, clients are told to read
   * everything again.
   */
  frames(nowMs: number): Frame[] {
    const subjects = this.#subjects.size > maxChanges ? [tooMany] : [...this.#subjects.values()];
    if (!this.#isSummary) return [...this.#frames, ...subjects];
    return [{ type: "summary", data: this.#summary(nowMs) }, ...subjects];
  }

  #countsOf(targetId: string): ChangeCounts {
    const name = this.#counts.has(targetId) || this.#counts.size < maxTargets ? targetId : "";
    const counts = this.#counts.get(name) ?? { accepted: 0, delivered: 0, retried: 0, failed: 0 };
    this.#counts.set(name, counts);
    return counts;
  }

  #summary(nowMs: number): string {
    return JSON.stringify({
      from: Math.floor(this.#sinceMs / 1000),
      to: Math.ceil(nowMs / 1000),
      targets: [...this.#counts].map(([id, counts]) =>
        Object.assign({ target_id: id === "" ? null : id }, counts),
      ),
    });
  }
}

const tooMany: Frame = { type: "reset", data: JSON.stringify({ reason: "many" }) };

const counted = { delivered: "delivered", retrying: "retried", failed: "failed" } as const;
