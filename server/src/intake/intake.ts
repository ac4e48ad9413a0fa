import type pg from "pg";
import { createGroupCommit } from "../runtime/groupCommit.ts";
import { awayReason, isTooSlow } from "../postgres/awayReason.ts";
import type { ClockCheck } from "../postgres/clock.ts";
import type { Acceptance, HeldLease, Lease, NewItem, UnjudgedItem } from "../items/item.ts";
import type { KnownFilters } from "../filters/knownFilters.ts";
import { acceptItems } from "./acceptItems.ts";
import { addJudged } from "./addJudged.ts";
import { handOn, type ItemSink } from "./handOn.ts";

/** Takes items in and answers once they are durable. */
export interface Intake {
  /** @throws {QueueFullError} when too many wait, or the database's error. */
  add(item: NewItem): Promise<Acceptance>;
  /** Resolves when everything taken so far is answered. */
  drained(): Promise<void>;
  pending(): number;
  /** What waits for its batch. */
  waiting(): { count: number; bytes: number };
  /** Why the last batch was not committed, and when (monotonic clock); undefined once one is. */
  trouble(): IntakeTrouble | undefined;
  /** Forgets the trouble: whoever looked found it gone. */
  forgetTrouble(): void;
}

export interface IntakeTrouble {
  error: unknown;
  atMs: number;
}

export interface IntakeLimits {
  /** The most bytes of payloads that wait. */
  maxQueuedBytes: number;
  /** Whose a key is: owners have equal parts of each batch, and of what waits. */
  ownerOf: (key: string) => string;
  filters: KnownFilters;
  /** Nothing is accepted while it is too far from the database's. */
  clock?: Pick<ClockCheck, "refuseApart"> | undefined;
}

const maxBatch = 256;
/** Batches of large payloads stay within a few megabytes of memory on both sides. */
const maxBatchBytes = 4 * 1024 * 1024;
const maxQueued = 10_000;

/** Intake through group commit: see {@link createGroupCommit} for the pace. */
export function createIntake(pool: pg.Pool, sink: ItemSink, limits: IntakeLimits): Intake {
  const { clock } = limits;
  let trouble: IntakeTrouble | undefined;
  const accept = async (items: NewItem[]): Promise<(Acceptance | UnjudgedItem)[]> => {
    try {
      clock?.refuseApart();
      const acceptances = await acceptItems(pool, items, hold(sink.newLease()), (item) =>
        sink.hasRoom(item.targetId),
      );
      trouble = undefined;
      return acceptances;
    } catch (error) {
      if (awayReason(error) !== undefined) {
        if (trouble === undefined) sink.onRefused(error);
        trouble = { error, atMs: performance.now() };
      }
      throw error;
    }
  };
  const commits = createGroupCommit<NewItem, Acceptance | UnjudgedItem>({
    run: accept,
    committed: (items, acceptances) => handOn(sink, items, acceptances),
    isPieceAtFault: (error) => awayReason(error) === undefined,
    isHopeless: isTooSlow,
    sizeOf: (item) => item.payload.length,
    maxBatch,
    maxBatchBytes,
    maxQueued,
    maxQueuedBytes: limits.maxQueuedBytes,
    ownerOf: (item) => limits.ownerOf(item.key),
  });
  return {
    add: (item) => addJudged(item, { commits, filters: limits.filters }),
    drained: () => commits.drained(),
    pending: () => commits.pending(),
    waiting: () => commits.waiting(),
    trouble: () => trouble,
    forgetTrouble: () => {
      trouble = undefined;
    },
  };
}

/** The lease, from now on. */
export function hold(lease: Lease): HeldLease {
  return { ...lease, deadlineMs: performance.now() + lease.durationMs };
}
