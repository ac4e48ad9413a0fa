import type pg from "pg";
import type { Lease } from "../intake/acceptItems.ts";
import type { DeliveryMetrics } from "../telemetry/deliveryMetrics.ts";
import type { Log } from "../telemetry/log.ts";
import type { Delivery } from "./delivery.ts";
import { claimDeliveries, firstCursor } from "./store.ts";

/** Brings due deliveries from the database into memory for as long as there is room. */
export interface ClaimLoop {
  start(): void;
  /** Something is due: look now rather than at the next poll. */
  wake(): void;
  /** A target, and so the memory, has room again; looks now if the last claim left something for want of it. */
  roomAppeared(targetId: string): void;
  stop(): Promise<void>;
}

export interface ClaimLoopDeps {
  pool: pg.Pool;
  log: Log;
  metrics: DeliveryMetrics;
  newLease: () => Lease;
  /** How much more fits in memory. */
  room: () => { deliveries: number; bytes: number };
  /** Targets that can take no more in memory now. */
  fullTargets: () => string[];
  /** Targets that have ended at least so many deliveries of late. */
  targetsEnding: (count: number) => string[];
  take: (deliveries: Delivery[]) => void;
}

const maxPerClaim = 512;
/** What a target gets that nobody has seen take more; less when memory is short, so that many can hang. */
const maxFew = 16;
const fewPartOfRoom = 1 / 64;
/** Payloads are taken for this large before the first claim has shown how large they are. */
const firstGuessBytes = 64 * 1024;
/** How long nothing may be due before the database is asked again. */
const pollMs = 200;
const errorPauseMs = 1_000;
/**
 * A claim that brings less than this was mostly spent on targets that wait for a later moment. Such claims pause for as
 * long as they took, so that thousands of those targets cost a fraction of a core and not a whole one.
 */
const sparseClaim = 16;
/** And for this many times as long when a whole circle brought nothing. */
const idlePauses = 4;
const maxIdlePauseMs = 1_000;

export function createClaimLoop(deps: ClaimLoopDeps): ClaimLoop {
  const sleeper = createSleeper();
  let cursor = firstCursor;
  let seen: Seen = { targets: 1, bytesPerDelivery: firstGuessBytes };
  /** For want of what the last claim left something: targets' room, or memory for all. */
  let skipped = new Set<string>();
  let wasMemoryShort = false;
  let circleMs = 0;
  let stopping = new AbortController();
  let ended: Promise<void> = Promise.resolve();

  async function run(): Promise<void> {
    while (!stopping.signal.aborted) {
      sleeper.rest();
      const pauseMs = await claimOnce();
      if (pauseMs > 0 && !stopping.signal.aborted) await sleeper.sleep(pauseMs);
    }
  }

  /** @returns how long to wait before the next claim, in milliseconds. */
  async function claimOnce(): Promise<number> {
    const size = sizeClaim(deps.room(), seen);
    const skip = deps.fullTargets();
    skipped = new Set(skip);
    wasMemoryShort = size.limit < maxPerClaim;
    if (size.limit === 0) return pollMs;
    const lease = deps.newLease();
    const startedAtMs = performance.now();
    try {
      const claim = await claimDeliveries(deps.pool, {
        leaseMs: lease.durationMs,
        leaseToken: lease.token,
        cursor,
        skip,
        wide: size.perTarget > size.few ? deps.targetsEnding(size.few) : [],
        ...size,
      });
      cursor = claim.cursor;
      const tookMs = performance.now() - startedAtMs;
      circleMs += tookMs;
      if (claim.deliveries.length > 0) {
        seen = lookAt(claim.deliveries, seen);
        deps.metrics.claimed(claim.deliveries.length);
        deps.take(claim.deliveries);
        circleMs = 0;
        return claim.deliveries.length < sparseClaim ? tookMs : 0;
      }
      if (!claim.isCircleClosed) return tookMs;
      const idleMs = Math.min(maxIdlePauseMs, circleMs * idlePauses);
      circleMs = 0;
      return Math.max(pollMs, idleMs);
    } catch (error) {
      deps.log.warn({ err: error }, "due deliveries could not be claimed; trying again");
      return errorPauseMs;
    }
  }

  return {
    start() {
      stopping = new AbortController();
      ended = run();
    },
    wake: () => sleeper.wake(),
    roomAppeared(targetId) {
      if (!skipped.delete(targetId) && !wasMemoryShort) return;
      wasMemoryShort = false;
      sleeper.wake();
    },
    async stop() {
      stopping.abort();
      sleeper.wake();
      await ended;
    },
  };
}

/** What the last claims brought. */
interface Seen {
  targets: number;
  bytesPerDelivery: number;
}

interface ClaimSize {
  limit: number;
  perTarget: number;
  few: number;
}

function sizeClaim(room: { deliveries: number; bytes: number }, seen: Seen): ClaimSize {
  const fits = Math.min(room.deliveries, Math.ceil(room.bytes / seen.bytesPerDelivery));
  const limit = Math.min(maxPerClaim, fits);
  const few = Math.min(maxFew, Math.max(1, Math.floor(fits * fewPartOfRoom)));
  return { limit, few, perTarget: Math.max(few, Math.ceil(limit / seen.targets)) };
}

/** Follows growing payloads at once and shrinking ones by and by, because memory is what is at stake. */
function lookAt(deliveries: readonly Delivery[], before: Seen): Seen {
  const targets = new Set<string>();
  let bytes = 0;
  for (const delivery of deliveries) {
    targets.add(delivery.targetId);
    bytes += delivery.payload.length;
  }
  const now = Math.max(1, bytes / deliveries.length);
  const average = now > before.bytesPerDelivery ? now : (now + before.bytesPerDelivery) / 2;
  return { targets: targets.size, bytesPerDelivery: average };
}

interface Sleeper {
  /** Forgets the wakes so far. */
  rest(): void;
  /** Resolves after the time, or at once when woken since the last rest. */
  sleep(ms: number): Promise<void>;
  wake(): void;
}

function createSleeper(): Sleeper {
  let isWoken = false;
  let wakeUp: (() => void) | undefined;
  return {
    rest() {
      isWoken = false;
    },
    sleep(ms) {
      if (isWoken) return Promise.resolve();
      return new Promise((resolve) => {
        const timer = setTimeout(done, ms);
        wakeUp = done;
        function done(): void {
          clearTimeout(timer);
          wakeUp = undefined;
          resolve();
        }
      });
    },
    wake() {
      isWoken = true;
      wakeUp?.();
    },
  };
}
