import type { Log } from "../../telemetry/log.ts";
import type { HandoffMetrics } from "../../telemetry/handoffMetrics.ts";
import { type FollowDeps, followTask, pollTimeoutMs } from "./followTask.ts";
import { claimPolls, firstPollCursor, type Poll, releasePolls } from "./pollStore.ts";

export interface FollowerDeps extends FollowDeps {
  log: Log;
  metrics: HandoffMetrics;
  newToken: () => number;
}

/** A target as this node asks it about its tasks. */
interface Lane {
  inFlight: number;
  /** Looks in a row that the agent did not answer. */
  failures: number;
  /** By the monotonic clock: no look before. */
  pausedUntilMs: number;
}

const maxInFlight = 64;
/** Looks under way at one target; a single one while it does not answer. */
const perTarget = 8;
const leaseMs = pollTimeoutMs * 3;
const idleMs = 500;
const errorPauseMs = 1_000;
const firstPauseMs = 1_000;
const maxPauseMs = 30_000;

/**
 * Follows tasks to their end: a circle over the targets that have tasks due, a few looks at each, so that neither many
 * tasks of one agent nor an agent that hangs keeps the others' from being seen.
 */
export class Follower {
  readonly #deps: FollowerDeps;
  readonly #lanes = new Map<string, Lane>();
  #cursor = firstPollCursor;
  #inFlight = 0;
  #isRunning = false;
  #isWoken = false;
  #wakeUp: (() => void) | undefined;
  #onIdle: (() => void) | undefined;
  #ended: Promise<void> = Promise.resolve();

  constructor(deps: FollowerDeps) {
    this.#deps = deps;
  }

  start(): void {
    this.#isRunning = true;
    this.#ended = this.#run();
  }

  /** A look may be due sooner than it was. */
  wake(): void {
    this.#isWoken = true;
    this.#wakeUp?.();
  }

  /** Ends when the looks under way have ended. */
  async stop(): Promise<void> {
    this.#isRunning = false;
    this.wake();
    await this.#ended;
    if (this.#inFlight > 0) await new Promise<void>((resolve) => (this.#onIdle = resolve));
  }

  async #run(): Promise<void> {
    while (this.#isRunning) {
      this.#isWoken = false;
      const pauseMs = await this.#claim();
      if (pauseMs > 0 && !this.#isWoken && this.#isRunning) await this.#pause(pauseMs);
    }
  }

  /** @returns how long to wait before the next claim, in milliseconds. */
  async #claim(): Promise<number> {
    this.#forgetIdleLanes();
    const limit = maxInFlight - this.#inFlight;
    if (limit <= 0) return idleMs;
    const leaseToken = this.#deps.newToken();
    try {
      const claim = await claimPolls(this.#deps.pool, {
        leaseMs,
        leaseToken,
        cursor: this.#cursor,
        skip: this.#fullTargets(),
        limit,
        perTarget,
      });
      this.#cursor = claim.cursor;
      const refused = claim.polls.filter((poll) => !this.#take(poll));
      if (refused.length > 0) await releasePolls(this.#deps.pool, refused);
      if (claim.polls.length > refused.length) return 0;
      return claim.isCircleClosed || refused.length > 0 ? idleMs : 0;
    } catch (error) {
      this.#deps.log.warn({ err: error }, "followed tasks could not be claimed; trying again");
      return errorPauseMs;
    }
  }

  /** False when its target has as much as it may while it is in trouble. */
  #take(poll: Poll): boolean {
    let lane = this.#lanes.get(poll.targetId);
    if (lane === undefined) {
      lane = { inFlight: 0, failures: 0, pausedUntilMs: 0 };
      this.#lanes.set(poll.targetId, lane);
    }
    if (!hasRoom(lane)) return false;
    lane.inFlight++;
    this.#inFlight++;
    void this.#look(lane, poll);
    return true;
  }

  async #look(lane: Lane, poll: Poll): Promise<void> {
    try {
      const look = await followTask(this.#deps, poll);
      this.#deps.metrics.looked(look);
      if (look === "trouble") noteTrouble(lane);
      else lane.failures = 0;
    } catch (error) {
      // The lease lapses by itself, and the task is looked at again.
      this.#deps.log.warn(
        { err: error, event_id: poll.eventId },
        "a task could not be followed; trying again",
      );
    }
    lane.inFlight--;
    this.#inFlight--;
    if (this.#inFlight === maxInFlight - 1) this.wake();
    if (this.#inFlight === 0) this.#onIdle?.();
  }

  #fullTargets(): string[] {
    const full: string[] = [];
    for (const [targetId, lane] of this.#lanes) if (!hasRoom(lane)) full.push(targetId);
    return full;
  }

  #forgetIdleLanes(): void {
    for (const [targetId, lane] of this.#lanes) {
      const isIdle = lane.inFlight === 0 && lane.pausedUntilMs < performance.now() - maxPauseMs;
      if (isIdle) this.#lanes.delete(targetId);
    }
  }

  #pause(pauseMs: number): Promise<void> {
    return new Promise((resolve) => {
      const timer = setTimeout(done, pauseMs);
      this.#wakeUp = done;
      const forget = (): void => {
        this.#wakeUp = undefined;
      };
      function done(): void {
        clearTimeout(timer);
        forget();
        resolve();
      }
    });
  }
}

function hasRoom(lane: Lane): boolean {
  if (lane.pausedUntilMs > performance.now()) return false;
  return lane.inFlight < (lane.failures > 0 ? 1 : perTarget);
}

function noteTrouble(lane: Lane): void {
  lane.failures++;
  const pauseMs = Math.min(maxPauseMs, firstPauseMs * 2 ** Math.min(lane.failures - 1, 5));
  lane.pausedUntilMs = performance.now() + pauseMs;
}
