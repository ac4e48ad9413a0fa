import type pg from "pg";
import type { KnownFilters } from "../filters/filter.ts";
import type { Acceptance, HeldLease, Lease, NewItem, UnmatchedItem } from "../items/item.ts";
import { awayReason, isTooSlow } from "../postgres/awayReason.ts";
import type { ClockCheck } from "../postgres/clock.ts";
import { GroupCommit, type GroupCommitOptions } from "../runtime/groupCommit.ts";
import { type Consumption, Pace } from "../runtime/pace.ts";
import { acceptItems } from "./acceptItems.ts";
import { dispatchAccepted, type ItemSink } from "./dispatchAccepted.ts";
import {
  asNewItem,
  type MatchedPublication,
  type NewPublication,
  type Published,
  publishItems,
  type StoredPublication,
} from "./publishItems.ts";
import { submitItem } from "./submitItem.ts";
import { submitPublication } from "./submitPublication.ts";

/** Accepts items and publications, and answers once they are durable. */
export interface Intake {
  /** @throws {QueueFullError} when the queue is full, {ApiError} 503 when the filter keeps changing, or the database's error. */
  add(item: NewItem): Promise<Acceptance>;
  /** Like `add`, for a publication. */
  publish(publication: NewPublication): Promise<Published>;
  /** Resolves when everything submitted so far is answered. */
  drained(): Promise<void>;
  /** Submissions that are not answered yet. */
  pending(): number;
  /** Submissions that wait for the next batch. */
  waiting(): { count: number; bytes: number };
  /** Why and when (monotonic clock) the last batch of items was not committed; undefined once a batch is committed. */
  trouble(): IntakeTrouble | undefined;
  /** Clears the trouble, after a health check of the database succeeded. */
  forgetTrouble(): void;
}

export interface IntakeTrouble {
  error: unknown;
  atMs: number;
}

export interface IntakeLimits {
  /** The most bytes of payloads that may wait. */
  maxQueuedBytes: number;
  /** The owner of an API key. Owners have equal shares of each batch and of the queue. */
  ownerOf: (key: string) => string;
  filters: KnownFilters;
  /** The state of consumers: while they are behind, items of busy mailboxes wait. When absent, no item waits for consumers. */
  consumers?: BusyConsumers;
  /** Refuses all items while this process's clock differs too much from the database's. */
  clock?: Pick<ClockCheck, "refuseApart"> | undefined;
}

interface BusyConsumers extends Consumption {
  /** Whether the mailbox has many consumers that are behind. */
  isBusy(mailboxId: string): boolean;
}

/**
 * The most bytes of payloads in a batch. Bounds the memory of a batch here and in PostgreSQL. A batch of large payloads reaches
 * this limit early, so that it counts as full and may start while another batch runs.
 */
const maxBatchBytes = 1024 * 1024;
const items = { maxBatch: 256, maxQueued: 10_000 };
/**
 * 64 publications, because a row of `deliveries` has at most 64 items; a batch has at most 65,536 items (`numbered_id`), but about
 * 2,048 when it is known what its publications become: others wait for all of it.
 */
const publications = { maxBatch: 64, maxQueued: 2_000, maxBatchBytes: 256 * 1024 };
/** Added to the size of a publication for each expected item, also where waiting bytes are counted and limited. */
const bytesPerItem = publications.maxBatchBytes / 2_048;

/**
 * Creates the intake, with three group commits ({@link GroupCommit}): for items, for publications, and for items of busy
 * mailboxes. Batches for busy mailboxes take turns with batches of consumers; no other item waits for consumers.
 */
export function createIntake(pool: pg.Pool, sink: ItemSink, limits: IntakeLimits): Intake {
  const { consumers, filters, ownerOf } = limits;
  const outages = trackOutages(sink);
  const itemOptions: GroupCommitOptions<NewItem, Acceptance | UnmatchedItem> = {
    ...batchOptions(limits),
    ...items,
    async run(batch: NewItem[]) {
      try {
        limits.clock?.refuseApart();
        const isImmediate = ({ targetId }: NewItem): boolean => sink.dispatcher.hasRoom(targetId);
        const acceptances = await acceptItems(pool, batch, startLease(sink), isImmediate);
        outages.end();
        return acceptances;
      } catch (error) {
        outages.note(error);
        throw error;
      }
    },
    committed: (batch: NewItem[], acceptances) => dispatchAccepted(sink, batch, acceptances),
  };
  const itemCommits = new GroupCommit(itemOptions);
  const pacedCommits =
    consumers &&
    new GroupCommit({
      ...itemOptions,
      // Few items wait here, because their producers are slowed down.
      maxQueuedBytes: limits.maxQueuedBytes / 4,
      turns: consumers.turns,
      pace: new Pace(consumers),
    });
  const publicationCommits: GroupCommit<MatchedPublication, StoredPublication> = new GroupCommit({
    ...batchOptions(limits),
    ...publications,
    sizeOf: ({ payload, expectedItems }) => payload.length + expectedItems * bytesPerItem,
    run: async (batch: MatchedPublication[]) => {
      limits.clock?.refuseApart();
      return publishItems(pool, batch, { sink, lease: startLease(sink) });
    },
    committed: (batch: MatchedPublication[], stored) => dispatchPublished(sink, batch, stored),
  });
  const manyItems = new Map<string, number>();
  const all: Pick<GroupCommit<never, never>, "drained" | "pending" | "waiting">[] = [
    itemCommits,
    ...(pacedCommits ? [pacedCommits] : []),
    publicationCommits,
  ];
  return {
    add(item) {
      const commits = pacedCommits && consumers?.isBusy(item.targetId) ? pacedCommits : itemCommits;
      return submitItem(item, { commits, filters });
    },
    publish: (publication) =>
      submitPublication(publication, {
        commits: publicationCommits,
        filters,
        manyItems,
        owner: ownerOf(publication.key),
      }),
    async drained() {
      await Promise.all(all.map((commits) => commits.drained()));
    },
    pending: () => all.reduce((sum, commits) => sum + commits.pending(), 0),
    waiting() {
      const waiting = all.map((commits) => commits.waiting());
      const sumOf = (what: "count" | "bytes"): number => waiting.reduce((sum, one) => sum + one[what], 0);
      return { count: sumOf("count"), bytes: sumOf("bytes") };
    },
    trouble: () => outages.trouble,
    forgetTrouble: () => outages.end(),
  };
}

type Batching = "isPieceAtFault" | "isHopeless" | "sizeOf" | "ownerOf" | "maxBatchBytes" | "maxQueuedBytes";

/** Options shared by the group commits of items and of publications. */
function batchOptions(
  limits: IntakeLimits,
): Pick<GroupCommitOptions<{ key: string; payload: Buffer }, never>, Batching> {
  return {
    isPieceAtFault: (error) => awayReason(error) === undefined,
    isHopeless: isTooSlow,
    sizeOf: ({ payload }) => payload.length,
    ownerOf: ({ key }) => limits.ownerOf(key),
    maxBatchBytes,
    maxQueuedBytes: limits.maxQueuedBytes,
  };
}

/** Starts the lease of items that this node dispatches from memory. */
function startLease(sink: ItemSink): HeldLease {
  const lease: Lease = sink.dispatcher.newLease();
  return { ...lease, deadlineMs: performance.now() + lease.durationMs };
}

function dispatchPublished(
  sink: ItemSink,
  batch: readonly MatchedPublication[],
  stored: readonly StoredPublication[],
): void {
  batch.forEach((publication, index) => {
    const { published, acceptances } = stored[index]!;
    if (published.outcome !== "unauthorized") sink.onKeyUsed(publication.key);
    if (published.outcome !== "accepted") return;
    const newItems = published.items.map((item) => asNewItem(publication, item));
    dispatchAccepted(sink, newItems, acceptances);
  });
}

/** Remembers the last failure to commit, and reports the first of an outage. */
function trackOutages(sink: ItemSink) {
  let trouble: IntakeTrouble | undefined;
  return {
    get trouble(): IntakeTrouble | undefined {
      return trouble;
    },
    end(): void {
      trouble = undefined;
    },
    /** Called when a batch was not committed. An error that one of its items causes is no outage. */
    note(error: unknown): void {
      if (awayReason(error) === undefined) return;
      if (trouble === undefined) sink.onRefused(error);
      trouble = { error, atMs: performance.now() };
    },
  };
}
