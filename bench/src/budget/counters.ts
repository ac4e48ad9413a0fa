import { getHeapStatistics } from "node:v8";
import type pg from "pg";
import { roundTripsOf } from "../../../server/test/support/roundTrips.ts";
import type { Path } from "./path.ts";

/** The cost of one item on a path. */
export interface Cost {
  /** Sent to PostgreSQL over the service's connections. */
  statements: number;
  /** Written to the write-ahead log, without images of whole pages. */
  walBytes: number;
  /** Allocated on the JavaScript heap. */
  heapBytes: number;
}

/** Rounds in which plans, caches and feedback vectors are made, and rounds that count. */
const warmUpRounds = 8;
const countedRounds = 16;

/** Runs a path's rounds, and gives the cost of an item. @param readWal The bytes of the write-ahead log so far. */
export async function costOf(path: Path, pool: pg.Pool, readWal: () => Promise<number>): Promise<Cost> {
  const rounds: Cost[] = [];
  // So that no collection falls into a round: one would free more than the round allocates.
  globalThis.gc!();
  for (let round = -warmUpRounds; round < countedRounds; round++) {
    await path.prepare?.();
    const cost = await costOfRound(path, pool, readWal);
    if (round >= 0) rounds.push(cost);
  }
  const statements = median(rounds.map((round) => round.statements));
  // In the others a statement of the background came between, such as the one that notes which keys were used.
  const counted = rounds.filter((round) => round.statements === statements);
  return {
    statements: statements / path.items,
    // Pages of indexes are divided in some rounds only, so that the mean is what an item costs. Without the two ends of it:
    // the beginning of a minute or an hour adds rows to statistics.
    walBytes: innerMean(counted.map((round) => round.walBytes)) / path.items,
    // A busy machine adds a little to some rounds, such as answers that come in two pieces.
    heapBytes: lowerQuartile(counted.map((round) => round.heapBytes)) / path.items,
  };
}

async function costOfRound(path: Path, pool: pg.Pool, readWal: () => Promise<number>): Promise<Cost> {
  let heapBytes = 0;
  const walBefore = await readWal();
  const statements = await roundTripsOf(pool, async () => {
    const heapBefore = getHeapStatistics().used_heap_size;
    await path.run();
    heapBytes = getHeapStatistics().used_heap_size - heapBefore;
  });
  return { statements, walBytes: (await readWal()) - walBefore, heapBytes };
}

/** The mean without the least and the greatest value. */
function innerMean(values: readonly number[]): number {
  const inner = values.toSorted((one, other) => one - other).slice(1, -1);
  return inner.reduce((sum, value) => sum + value, 0) / inner.length;
}

/** Rounds that are not disturbed allocate about the same. A collection during a round makes one outlier below. */
function lowerQuartile(values: readonly number[]): number {
  return values.toSorted((one, other) => one - other)[values.length >> 2]!;
}

function median(values: readonly number[]): number {
  return values.toSorted((one, other) => one - other)[values.length >> 1]!;
}
