import type { Delivery } from "../../items/delivery.ts";
import type { TargetConfig } from "../../targets/targetConfig.ts";

/*
 * One target as a node works on it: what waits in memory, how much is under way, and how much the target can
 * take. The window follows the target: it opens by one with each success and halves with each failure, so that
 * a receiver nobody has heard of, or one that hangs, never holds more than a few of the node's connections.
 */
export interface Lane {
  readonly targetId: string;
  readonly queue: Delivery[];
  /** Index of the queue's first element; the array is cut when half of it is used up. */
  head: number;
  inFlight: number;
  /** How many requests may be under way now. */
  window: number;
  /** How far the window opens. */
  maxWindow: number;
  config: TargetConfig | undefined;
  /** When `config` was last known to be current, by the monotonic clock. */
  checkedAtMs: number;
  /** From when on a part of it may be lent to another thread, by the monotonic clock. */
  lendableAtMs: number;
  /** Failures since the last success. */
  failures: number;
  /** No request starts before this moment of the monotonic clock: the circuit is open. */
  openUntilMs: number;
  /** Payload bytes that wait in memory. */
  bytes: number;
  /** Deliveries that ended in the present and the last accounting period; sizes what is claimed ahead. */
  recent: number;
  previous: number;
}

/** Doubles with each round of successes, so a fast receiver is at its full width after five answers in a row. */
const firstWindow = 1;
/** Consecutive failures that open the circuit. */
const failuresToOpen = 10;
const firstOpenMs = 1_000;
const maxOpenMs = 30_000;
/** What may wait in memory however slow the target is, as a number and in windows; and however fast it is. */
const minAhead = 8;
const windowsAhead = 4;
const maxAhead = 1_024;

export function createLane(targetId: string, maxWindow: number): Lane {
  return {
    targetId,
    queue: [],
    head: 0,
    inFlight: 0,
    window: firstWindow,
    maxWindow,
    config: undefined,
    checkedAtMs: 0,
    lendableAtMs: 0,
    failures: 0,
    openUntilMs: 0,
    bytes: 0,
    recent: 0,
    previous: 0,
  };
}

/** How many deliveries wait in memory for the target. */
export function waiting(lane: Lane): number {
  return lane.queue.length - lane.head;
}

/** Whether the target has nothing in memory or under way. */
export function isEmpty(lane: Lane): boolean {
  return waiting(lane) === 0 && lane.inFlight === 0;
}

/** Puts a delivery behind those that wait. */
export function put(lane: Lane, delivery: Delivery): void {
  lane.queue.push(delivery);
  lane.bytes += delivery.payload.length;
}

/** Takes the next waiting delivery. */
export function takeNext(lane: Lane): Delivery | undefined {
  const delivery = lane.queue[lane.head];
  if (delivery === undefined) return undefined;
  lane.head++;
  lane.bytes -= delivery.payload.length;
  if (lane.head === lane.queue.length) {
    lane.queue.length = 0;
    lane.head = 0;
  } else if (lane.head >= 1_024) {
    lane.queue.splice(0, lane.head);
    lane.head = 0;
  }
  return delivery;
}

/** Takes everything that waits. */
export function takeAll(lane: Lane): Delivery[] {
  const all = lane.queue.slice(lane.head);
  lane.queue.length = 0;
  lane.head = 0;
  lane.bytes = 0;
  return all;
}

/** The most that one target may have, of what is free of it for all. */
export interface Share {
  deliveries: number;
  bytes: number;
}

/**
 * Whether more may be put in memory for the target: as much as it has lately ended in a period, so that a fast
 * target never runs dry between two claims and a slow one never holds what another node could deliver.
 */
export function hasRoom(lane: Lane, nowMs: number, share: Share): boolean {
  if (lane.openUntilMs > nowMs) return false;
  const count = waiting(lane);
  if (count === 0) return true;
  const wanted = Math.max(minAhead, lane.window * windowsAhead) + Math.max(lane.recent, lane.previous);
  const ahead = Math.min(maxAhead, wanted, share.deliveries);
  return count < ahead && lane.bytes < share.bytes;
}

/** Whether a request to the target may start now, when it may have at most `share` under way. */
export function mayStart(lane: Lane, nowMs: number, share: number): boolean {
  if (lane.inFlight >= lane.window || lane.inFlight >= share) return false;
  if (lane.openUntilMs > nowMs) return false;
  // After an open circuit a single request tries the target before others follow.
  return lane.failures < failuresToOpen || lane.inFlight === 0;
}

/** Changes how far the window opens; what is under way beyond it ends by itself. */
export function setMaxWindow(lane: Lane, maxWindow: number): void {
  lane.maxWindow = maxWindow;
  lane.window = Math.min(lane.window, maxWindow);
}

export function noteSuccess(lane: Lane): void {
  lane.failures = 0;
  lane.openUntilMs = 0;
  lane.recent++;
  if (lane.window < lane.maxWindow) lane.window++;
}

/** @param slowDown Whether the target is overloaded or hangs, rather than refuses. */
export function noteTrouble(lane: Lane, slowDown: boolean, nowMs: number): void {
  lane.failures++;
  lane.recent++;
  if (slowDown || lane.failures >= failuresToOpen) lane.window = Math.max(1, lane.window >> 1);
  if (lane.failures < failuresToOpen) return;
  const doublings = Math.min(5, Math.floor((lane.failures - failuresToOpen) / 4));
  lane.openUntilMs = nowMs + Math.min(maxOpenMs, firstOpenMs * 2 ** doublings);
}
