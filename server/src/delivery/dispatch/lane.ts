import type { Delivery } from "../../items/delivery.ts";
import type { TargetConfig } from "../../targets/targetConfig.ts";
import type { OrgAtWork, Standing } from "./admission.ts";
import { mayBegin, type Pace } from "./pace.ts";

/*
 * One target as a node works on it: what waits in memory, how much is under way, and how much the target can
 * take. The window is AIMD (additive increase, multiplicative decrease): +1 with each success, halved with each
 * failure, so that a receiver nobody has heard of, or one that hangs, never holds more than a few of the node's
 * connections.
 */
export interface Lane {
  readonly targetId: string;
  /** The budget that its requests count to; changed by `Admission.move` alone. */
  standing: Standing;
  /** Known with the target's configuration. */
  org: OrgAtWork | undefined;
  /** It waits for its turn; changed by `Turns` alone. */
  isQueued: boolean;
  /** Something was left in the database for want of room here. */
  hasMoreDue: boolean;
  /** When a request last ended, or the first of those under way began, by the monotonic clock. */
  progressAtMs: number;
  /** When the receiver last answered, or refused at once, by the monotonic clock. */
  answeredAtMs: number;
  /** How long the last request took. */
  lastDurationMs: number;
  readonly queue: Delivery[];
  /** Index of the queue's first element; the array is cut when half of it is used up. */
  head: number;
  inFlight: number;
  /** How many requests may be under way now. */
  window: number;
  /** How far the window opens. */
  maxWindow: number;
  /** Where the target's owner has set a limit. */
  pace: Pace | undefined;
  config: TargetConfig | undefined;
  /** When `config` was last known to be current, by the monotonic clock. */
  checkedAtMs: number;
  /** Failures since the last success. */
  failures: number;
  /** Requests in a row that held a connection for long and brought no answer. */
  timeouts: number;
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
/** What opens a circuit, in a row, and for how long. A timeout held a connection for a whole attempt. */
const circuit = { failures: 10, timeouts: 2, firstOpenMs: 1_000, maxOpenMs: 30_000 };
/** Read-ahead of one target: at least max(8, 4 × window) deliveries, at most 1,024. */
const minAhead = 8;
const windowsAhead = 4;
const maxAhead = 1_024;

export function createLane(targetId: string, maxWindow: number, standing: Standing): Lane {
  return {
    targetId,
    standing,
    org: undefined,
    isQueued: false,
    hasMoreDue: false,
    progressAtMs: 0,
    answeredAtMs: 0,
    lastDurationMs: 0,
    queue: [],
    head: 0,
    inFlight: 0,
    window: firstWindow,
    maxWindow,
    pace: undefined,
    config: undefined,
    checkedAtMs: 0,
    failures: 0,
    timeouts: 0,
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
  const perSecond = lane.pace?.limits.perSecond;
  // A claim brings what may be sent in a second, at most.
  if (typeof perSecond === "number" && count >= perSecond / 2) return false;
  const wanted = Math.max(minAhead, lane.window * windowsAhead) + Math.max(lane.recent, lane.previous);
  const ahead = Math.min(maxAhead, wanted, share.deliveries);
  return count < ahead && lane.bytes < share.bytes;
}

/** Whether the target could take one more request now, whatever others want. */
export function isReady(lane: Lane, nowMs: number): boolean {
  return isOpen(lane, nowMs) && (lane.pace === undefined || mayBegin(lane.pace, lane.inFlight, nowMs));
}

/** The same, whatever limits its owner has set. */
export function isOpen(lane: Lane, nowMs: number): boolean {
  if (waiting(lane) === 0 || lane.inFlight >= lane.window || lane.openUntilMs > nowMs) return false;
  // Half-open: after an open circuit one request probes the target before others follow.
  return !isTripped(lane) || lane.inFlight === 0;
}

/** Whether failures keep requests from the target for now. */
export function isCircuitOpen(lane: Lane, nowMs: number): boolean {
  return lane.openUntilMs > nowMs && isTripped(lane);
}

/** Starts nothing before that moment of the monotonic clock, and fewer at a time after it; counts as no failure. */
export function hold(lane: Lane, untilMs: number): void {
  lane.openUntilMs = untilMs;
  lane.window = Math.max(1, lane.window >> 1);
}

export function isTripped(lane: Lane): boolean {
  return lane.failures >= circuit.failures || lane.timeouts >= circuit.timeouts;
}

/** Changes how far the window opens; what is under way beyond it ends by itself. */
export function setMaxWindow(lane: Lane, maxWindow: number): void {
  lane.maxWindow = maxWindow;
  lane.window = Math.max(1, Math.min(lane.window, maxWindow));
}

export function noteSuccess(lane: Lane): void {
  lane.failures = 0;
  lane.timeouts = 0;
  lane.openUntilMs = 0;
  lane.recent++;
  if (lane.window < lane.maxWindow) lane.window++;
}

/** What was wrong with the target. */
export interface Trouble {
  /** It is overloaded or hangs, rather than refuses. */
  slowDown: boolean;
  /** It held a connection for long and did not answer. */
  isTimeout: boolean;
}

export function noteTrouble(lane: Lane, { slowDown, isTimeout }: Trouble, nowMs: number): void {
  lane.failures++;
  lane.recent++;
  // While the circuit is open, timeouts are of requests sent before it opened, and do not count again.
  if (!isTimeout) lane.timeouts = 0;
  else if (lane.openUntilMs <= nowMs) lane.timeouts++;
  if (slowDown || isTripped(lane)) lane.window = Math.max(1, lane.window >> 1);
  if (!isTripped(lane)) return;
  const more = Math.max((lane.failures - circuit.failures) >> 2, lane.timeouts - circuit.timeouts);
  const doublings = Math.min(5, Math.max(0, more));
  lane.openUntilMs = nowMs + Math.min(circuit.maxOpenMs, circuit.firstOpenMs * 2 ** doublings);
}
