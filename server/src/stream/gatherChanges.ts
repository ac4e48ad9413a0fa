import type { Change, ChangeType } from "../items/changes.ts";

/** One server-sent event, without its id. */
export interface Frame {
  type: ChangeType | "summary" | "reset";
  /** JSON. */
  data: string;
}

/** More changes than these in one turn are told as numbers: a page cannot show more, and nobody could read them. */
const maxChanges = 50;
/** More targets than these share the entry without a `target_id`. */
const maxTargets = 40;
/** A change whose JSON is longer is counted only: it must fit a notification of PostgreSQL. */
const maxChangeBytes = 2_000;

/** Counts for a target with too many changes to send each. */
type ChangeCounts = Record<"accepted" | "delivered" | "retried" | "failed", number>;

/** Gathers what happens in one organization from one turn to the next. */
export class GatheredChanges {
  readonly #sinceMs: number;
  readonly #counts = new Map<string, ChangeCounts>();
  /** The latest of each subject whose changes only say that it is to be read again. */
  readonly #subjects = new Map<string, Frame>();
  #frames: Frame[] = [];
  #isSummary = false;

  constructor(nowMs: number) {
    this.#sinceMs = nowMs;
  }

  add(targetId: string, change: Change): void {
    if (change.type === "item") {
      // Also an item that is canceled is to be told of, and adds to no number.
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
    // At a high rate nothing is written of each.
    if (this.#isSummary) return;
    const data = JSON.stringify(change.data);
    if (data.length <= maxChangeBytes) this.#frames.push({ type: change.type, data });
    else this.#isSummary = true;
  }

  /** The message: each change, or counts. More subjects than the bound are not told: everything is to be read again. */
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
