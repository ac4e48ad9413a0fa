import type { Quiet } from "../../runtime/quiet.ts";
import { createSleeper, repeatUntil } from "../../runtime/sleeper.ts";
import type { Log } from "../../telemetry/log.ts";
import type { HandoffMetrics } from "../../telemetry/deliveryMetrics.ts";
import { type FollowDeps, followTask, pollTimeoutMs } from "./followTask.ts";
import { claimPolls, firstPollCursor, type Poll, postponePoll, releasePolls } from "./pollStore.ts";

export interface FollowerDeps extends FollowDeps {
  log: Log;
  metrics: HandoffMetrics;
  newToken: () => number;
  quiet: Quiet;
}

interface PolledTarget {
  inFlight: number;
  /** Number of consecutive polls without an answer from the agent. */
  failures: number;
  /** The earliest time of the next poll, on the monotonic clock. */
  pausedUntilMs: number;
}

/**
 * Maximum number of running polls: in total, per target, and of all targets that did not answer; each of these has one at a time.
 * A claim takes `ofClaim` of a target that has room for as many, so that it returns none.
 */
const most = { looks: 64, ofTarget: 8, ofSilent: 16, ofClaim: 4 };
const leaseMs = pollTimeoutMs * 3;
/**
 * Pauses in milliseconds: while nothing is due; while nothing is due and the process is quiet; after a database error; for a
 * target that does not answer (first pause, doubled each time up to the longest).
 */
const pauses = { idle: 500, quiet: 5_000, error: 1_000, first: 1_000, longest: 30_000 };
/** After a claim that found nothing due and did not visit all targets: so many times as long as the claim took. */
const claimPauses = 20;
/** How long a silent target is remembered after its last poll, in milliseconds. */
const silentMs = 60 * 60_000;

/**
 * Follows tasks until they end: takes the targets with due tasks in turn (round robin) and polls a few tasks of each, so that
 * neither many tasks of one agent nor a hanging agent delays the others.
 */
export class Follower {
  readonly #deps: FollowerDeps;
  readonly #targets = new Map<string, PolledTarget>();
  #cursor = firstPollCursor;
  #inFlight = 0;
  /** Number of running polls that began when their target had not answered the poll before. */
  #silentInFlight = 0;
  readonly #stopping = new AbortController();
  readonly #sleeper = createSleeper();
  #onIdle: (() => void) | undefined;
  #stopWaking: (() => void) | undefined;
  #ended: Promise<void> = Promise.resolve();

  constructor(deps: FollowerDeps) {
    this.#deps = deps;
  }

  start(): void {
    this.#stopWaking = this.#deps.quiet.onEnd(() => this.wake());
    this.#ended = repeatUntil(this.#stopping.signal, this.#sleeper, () => this.#claim());
  }

  /** Called when a poll may be due earlier than planned. */
  wake(): void {
    this.#sleeper.wake();
  }

  /** Resolves when the running polls have ended. */
  async stop(): Promise<void> {
    this.#stopping.abort();
    this.#stopWaking?.();
    this.wake();
    await this.#ended;
    if (this.#inFlight > 0) await new Promise<void>((resolve) => (this.#onIdle = resolve));
  }

  /** @returns how long to wait before the next claim, in milliseconds. */
  async #claim(): Promise<number> {
    this.#forgetIdleLanes();
    const limit = most.looks - this.#inFlight;
    const idleMs = this.#deps.quiet.isQuiet() ? pauses.quiet : pauses.idle;
    if (limit <= 0) return idleMs;
    const leaseToken = this.#deps.newToken();
    const startedAtMs = performance.now();
    try {
      const claim = await claimPolls(this.#deps.direct, {
        leaseMs,
        leaseToken,
        cursor: this.#cursor,
        skip: this.#fullTargets(),
        limit,
        perTarget: most.ofClaim,
      });
      this.#cursor = claim.cursor;
      const refused = claim.polls.filter((poll) => !this.#take(poll));
      if (refused.length > 0) await releasePolls(this.#deps.direct, refused);
      if (claim.polls.length > 0) this.#deps.quiet.note();
      if (claim.polls.length > refused.length) return 0;
      if (claim.isCircleClosed || refused.length > 0) return idleMs;
      return Math.min(idleMs, (performance.now() - startedAtMs) * claimPauses);
    } catch (error) {
      this.#deps.log.warn({ err: error }, "followed tasks could not be claimed; trying again");
      return pauses.error;
    }
  }

  /** Starts a poll; returns false if the target has no room for another one now. */
  #take(poll: Poll): boolean {
    const target = this.#targets.get(poll.targetId) ?? { inFlight: 0, failures: 0, pausedUntilMs: 0 };
    this.#targets.set(poll.targetId, target);
    if (!this.#hasRoom(target, 1)) return false;
    target.inFlight++;
    this.#inFlight++;
    void this.#look(target, poll);
    return true;
  }

  async #look(target: PolledTarget, poll: Poll): Promise<void> {
    const silent = target.failures > 0 ? 1 : 0;
    this.#silentInFlight += silent;
    try {
      const look = await followTask(this.#deps, poll);
      this.#deps.metrics.looked(look);
      if (look === "trouble") noteTrouble(target);
      else target.failures = 0;
    } catch (error) {
      this.#deps.log.warn(
        { err: error, event_id: poll.eventId },
        "a task could not be followed; trying again",
      );
      const next = { ...poll, inMs: pauses.error };
      // If the database is unreachable, the lease lapses.
      await postponePoll(this.#deps.direct, poll, next).catch(() => undefined);
    }
    target.inFlight--;
    this.#inFlight--;
    this.#silentInFlight -= silent;
    const isRoomFree =
      this.#inFlight === most.looks - most.ofClaim || target.inFlight === most.ofTarget - most.ofClaim;
    if (isRoomFree) this.wake();
    if (this.#inFlight === 0) this.#onIdle?.();
  }

  #fullTargets(): string[] {
    return [...this.#targets]
      .filter(([, target]) => !this.#hasRoom(target, most.ofClaim))
      .map(([targetId]) => targetId);
  }

  #hasRoom(target: PolledTarget, polls: number): boolean {
    if (target.pausedUntilMs > performance.now()) return false;
    if (target.failures === 0) return target.inFlight <= most.ofTarget - polls;
    return target.inFlight === 0 && this.#silentInFlight < most.ofSilent;
  }

  #forgetIdleLanes(): void {
    for (const [targetId, target] of this.#targets) {
      const keptMs = target.failures > 0 ? silentMs : pauses.longest;
      const isIdle = target.inFlight === 0 && target.pausedUntilMs < performance.now() - keptMs;
      if (isIdle) this.#targets.delete(targetId);
    }
  }
}

function noteTrouble(target: PolledTarget): void {
  target.failures++;
  const pauseMs = Math.min(pauses.longest, pauses.first * 2 ** Math.min(target.failures - 1, 5));
  target.pausedUntilMs = performance.now() + pauseMs;
}
