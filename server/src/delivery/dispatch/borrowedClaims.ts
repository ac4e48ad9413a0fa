import type { ClaimLoop, ClaimLoopDeps } from "./claimLoop.ts";
import { lookAt, nothingSeen, sizeClaim } from "./claimSize.ts";
import { createSleeper, repeatUntil } from "../../runtime/sleeper.ts";
import { claimDeliveries, firstCursor } from "../rows/store.ts";

/** What a dispatcher asks and tells of targets that are lent to its thread. */
export interface Borrowing {
  /** How many requests the thread may have under way to the target. */
  requestsOf(targetId: string): number;
  /** The target takes nothing for now: it goes back, and whoever lent it tries it again. */
  troubled(targetId: string): void;
  /** The target has nothing more in memory or under way. */
  idle(targetId: string): void;
}

const idleMs = 1_000;

interface Borrowed {
  requests: number;
  /** Nothing more is claimed; it goes back when what is under way has ended. */
  isEnding: boolean;
}

/** Claims due deliveries of the targets on loan to this thread, round robin, until nothing of theirs is due. */
export class BorrowedClaims implements ClaimLoop, Borrowing {
  readonly #ended: (targetId: string) => void;
  readonly #sleeper = createSleeper();
  readonly #stopping = new AbortController();
  /** In round-robin order. */
  readonly #targets = new Map<string, Borrowed>();
  #deps!: ClaimLoopDeps;
  #seen = nothingSeen;
  #wantsRoom = false;
  #run: Promise<void> = Promise.resolve();

  /** @param ended Told that a target goes back. */
  constructor(ended: (targetId: string) => void) {
    this.#ended = ended;
  }

  /** Gives the loop what its dispatcher has for it. */
  connect(deps: ClaimLoopDeps): this {
    this.#deps = deps;
    return this;
  }

  borrow(targetId: string, requests: number): void {
    this.#targets.set(targetId, { requests, isEnding: false });
    this.wake();
  }

  requestsOf(targetId: string): number {
    return this.#targets.get(targetId)?.requests ?? 1;
  }

  troubled(targetId: string): void {
    this.#end(targetId);
  }

  idle(targetId: string): void {
    if (!this.#targets.get(targetId)?.isEnding || !this.#deps.forgetIdle(targetId)) return;
    this.#targets.delete(targetId);
    this.#ended(targetId);
  }

  start(): void {
    this.#run = repeatUntil(this.#stopping.signal, this.#sleeper, () => this.#claimOnce());
  }

  wake(): void {
    this.#sleeper.wake();
  }

  wantsRoom(): boolean {
    return this.#wantsRoom;
  }

  roomAppeared(): void {
    this.#wantsRoom = false;
    this.wake();
  }

  async stop(): Promise<void> {
    this.#stopping.abort();
    this.wake();
    await this.#run;
  }

  /** @returns how long to wait before the next claim, in milliseconds. */
  async #claimOnce(): Promise<number> {
    const targetId = this.#nextTarget();
    const size = sizeClaim(this.#deps.room(), this.#seen);
    this.#wantsRoom = targetId === undefined || size.limit === 0;
    if (targetId === undefined || size.limit === 0) return idleMs;
    const lease = this.#deps.newLease();
    const startedAtMs = performance.now();
    try {
      const { deliveries, isCircleClosed } = await claimDeliveries(
        this.#deps.pool,
        {
          leaseMs: lease.durationMs,
          leaseToken: lease.token,
          cursor: firstCursor,
          skip: [],
          wide: [targetId],
          only: [targetId],
          ...size,
        },
        this.#deps.traces,
      );
      if (deliveries.length > 0) {
        this.#seen = lookAt(deliveries, this.#seen);
        this.#deps.metrics.claimed(deliveries.length);
        this.#deps.take(deliveries);
        return 0;
      }
      if (!isCircleClosed) return performance.now() - startedAtMs;
    } catch (error) {
      this.#deps.log.warn({ err: error }, "due deliveries could not be claimed; the target is given back");
    }
    this.#end(targetId);
    this.idle(targetId);
    return 0;
  }

  /** The one whose turn it is, of those that have room; its next turn is after the others'. */
  #nextTarget(): string | undefined {
    const full = new Set(this.#deps.fullTargets());
    for (const [targetId, target] of this.#targets) {
      if (target.isEnding || full.has(targetId)) continue;
      this.#targets.delete(targetId);
      this.#targets.set(targetId, target);
      return targetId;
    }
    return undefined;
  }

  #end(targetId: string): void {
    const target = this.#targets.get(targetId);
    if (target !== undefined) target.isEnding = true;
  }
}
