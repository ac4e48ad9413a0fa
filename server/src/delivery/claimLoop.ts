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
  /** A lane or the memory has room again; looks now if the last claim left something for want of it. */
  roomAppeared(): void;
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

export function createClaimLoop(deps: ClaimLoopDeps): ClaimLoop {
  let cursor = firstCursor;
  let targetsSeen = 1;
  let bytesPerDelivery = firstGuessBytes;
  let isRunning = false;
  let wasRoomShort = false;
  let isWoken = false;
  let wakeUp: (() => void) | undefined;
  let ended: Promise<void> = Promise.resolve();

  async function run(): Promise<void> {
    while (isRunning) {
      isWoken = false;
      const pauseMs = await claimOnce();
      if (pauseMs > 0 && !isWoken && isRunning) await pause(pauseMs);
    }
  }

  /** @returns how long to wait before the next claim, in milliseconds. */
  async function claimOnce(): Promise<number> {
    const room = deps.room();
    const fits = Math.min(room.deliveries, Math.ceil(room.bytes / bytesPerDelivery));
    const limit = Math.min(maxPerClaim, fits);
    const few = Math.min(maxFew, Math.max(1, Math.floor(fits * fewPartOfRoom)));
    const perTarget = Math.max(few, Math.ceil(limit / targetsSeen));
    const skip = deps.fullTargets();
    wasRoomShort = limit < maxPerClaim || skip.length > 0;
    if (limit === 0) return pollMs;
    const lease = deps.newLease();
    try {
      const claim = await claimDeliveries(deps.pool, {
        leaseMs: lease.durationMs,
        leaseToken: lease.token,
        cursor,
        skip,
        limit,
        perTarget,
        few,
        wide: perTarget > few ? deps.targetsEnding(few) : [],
      });
      cursor = claim.cursor;
      if (claim.deliveries.length > 0) {
        targetsSeen = new Set(claim.deliveries.map((delivery) => delivery.targetId)).size;
        bytesPerDelivery = averageBytes(claim.deliveries, bytesPerDelivery);
        deps.metrics.claimed(claim.deliveries.length);
        deps.take(claim.deliveries);
        return 0;
      }
      return claim.isCircleClosed ? pollMs : 0;
    } catch (error) {
      deps.log.warn({ err: error }, "due deliveries could not be claimed; trying again");
      return errorPauseMs;
    }
  }

  function pause(pauseMs: number): Promise<void> {
    return new Promise((resolve) => {
      const timer = setTimeout(done, pauseMs);
      wakeUp = done;
      function done(): void {
        clearTimeout(timer);
        wakeUp = undefined;
        resolve();
      }
    });
  }

  function wake(): void {
    isWoken = true;
    wakeUp?.();
  }

  return {
    start() {
      isRunning = true;
      ended = run();
    },
    wake,
    roomAppeared() {
      if (wasRoomShort) wake();
    },
    async stop() {
      isRunning = false;
      wake();
      await ended;
    },
  };
}

/** Follows growing payloads at once and shrinking ones by and by, because memory is what is at stake. */
function averageBytes(deliveries: Delivery[], before: number): number {
  let bytes = 0;
  for (const delivery of deliveries) bytes += delivery.payload.length;
  const now = Math.max(1, bytes / deliveries.length);
  return now > before ? now : (now + before) / 2;
}
