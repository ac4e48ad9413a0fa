import type pg from "pg";
import { createGroupCommit } from "../runtime/groupCommit.ts";
import { isTooSlow } from "../postgres/awayReason.ts";
import { idTimeMs } from "../postgres/ids.ts";
import { isDatabaseAway } from "../postgres/pool.ts";
import type { Changes } from "../items/changes.ts";
import type { Acceptance, HeldLease, Lease, LeasedItem, NewItem } from "../items/item.ts";
import { acceptItems } from "./acceptItems.ts";

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

/** What intake hands its accepted items to. */
export interface ItemSink {
  /** Whether this node has room to dispatch an item of the target from memory. */
  hasRoom(targetId: string): boolean;
  /** How long items accepted for immediate dispatch stay leased to this node. */
  newLease(): Lease;
  /** An item that is durable and leased to this node. */
  take(item: NewItem, leased: LeasedItem): void;
  /** Some deliveries to the target became due that this node did not take. */
  onDue(targetId: string): void;
  /** Some mailboxes have new messages. */
  onMailboxItems(mailboxIds: string[]): void;
  changes: Changes;
  /** The database takes no more items, for this reason; not told again until it has taken some. */
  onRefused(error: unknown): void;
  /** Told of each item's key, for `last_used_at`. */
  onKeyUsed(key: string): void;
}

export interface IntakeLimits {
  /** The most bytes of payloads that wait. */
  maxQueuedBytes: number;
  /** Whose a key is: owners have equal parts of each batch, and of what waits. */
  ownerOf: (key: string) => string;
}

const maxBatch = 256;
/** Batches of large payloads stay within a few megabytes of memory on both sides. */
const maxBatchBytes = 4 * 1024 * 1024;
const maxQueued = 10_000;

/** Intake through group commit: see {@link createGroupCommit} for the pace. */
export function createIntake(pool: pg.Pool, sink: ItemSink, limits: IntakeLimits): Intake {
  let trouble: IntakeTrouble | undefined;
  const accept = async (items: NewItem[]): Promise<Acceptance[]> => {
    try {
      const acceptances = await acceptItems(pool, items, hold(sink.newLease()), (item) =>
        sink.hasRoom(item.targetId),
      );
      trouble = undefined;
      return acceptances;
    } catch (error) {
      if (isDatabaseAway(error)) {
        if (trouble === undefined) sink.onRefused(error);
        trouble = { error, atMs: performance.now() };
      }
      throw error;
    }
  };
  const commits = createGroupCommit<NewItem, Acceptance>({
    run: accept,
    committed: (items, acceptances) => handOn(sink, items, acceptances),
    isPieceAtFault: (error) => !isDatabaseAway(error),
    isHopeless: isTooSlow,
    sizeOf: (item) => item.payload.length,
    maxBatch,
    maxBatchBytes,
    maxQueued,
    maxQueuedBytes: limits.maxQueuedBytes,
    ownerOf: (item) => limits.ownerOf(item.key),
  });
  return Object.assign(commits, {
    trouble: () => trouble,
    forgetTrouble: () => {
      trouble = undefined;
    },
  });
}

function hold(lease: Lease): HeldLease {
  return { ...lease, deadlineMs: performance.now() + lease.durationMs };
}

function handOn(sink: ItemSink, items: NewItem[], acceptances: Acceptance[]): void {
  let due: Set<string> | undefined;
  let mailboxIds: string[] | undefined;
  let notedKey: string | undefined;
  for (let index = 0; index < items.length; index++) {
    const item = items[index]!;
    const acceptance = acceptances[index]!;
    if (acceptance.outcome !== "unauthorized" && item.key !== notedKey) {
      notedKey = item.key;
      sink.onKeyUsed(item.key);
    }
    if (acceptance.outcome === "leased") sink.take(item, acceptance);
    else if (acceptance.outcome === "unread") (mailboxIds ??= []).push(item.targetId);
    else if (acceptance.outcome === "due") (due ??= new Set()).add(item.targetId);
  }
  if (due) for (const targetId of due) sink.onDue(targetId);
  if (mailboxIds) sink.onMailboxItems(mailboxIds);
  if (sink.changes.isWatched()) report(sink.changes, items, acceptances);
}

function report(changes: Changes, items: NewItem[], acceptances: Acceptance[]): void {
  items.forEach(({ id, targetId, eventType }, index) => {
    if (!changes.isTargetWatched(targetId)) return;
    const status = statusOf(acceptances[index]!);
    if (status === undefined) return;
    const created = Math.floor(idTimeMs(id) / 1000);
    const data = { id, target_id: targetId, event_type: eventType, status, created_at: created };
    changes.publish(targetId, { type: "item", data });
  });
}

/** Of an item that was newly accepted. */
function statusOf({ outcome }: Acceptance): "QUEUED" | "UNREAD" | "FILTERED" | undefined {
  if (outcome === "filtered") return "FILTERED";
  if (outcome === "unread") return "UNREAD";
  return outcome === "leased" || outcome === "due" || outcome === "held" ? "QUEUED" : undefined;
}
