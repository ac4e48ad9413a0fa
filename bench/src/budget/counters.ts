import { getHeapStatistics } from "node:v8";
import type pg from "pg";
import { roundTripsOf } from "../../../server/test/support/roundTrips.ts";
import type { Path } from "./path.ts";

/** The cost of one item on a path. */
export interface Cost {
  /** Statements sent to PostgreSQL over the service's connections. */
  statements: number;
  /** Bytes written to the write-ahead log, without full-page images. */
  walBytes: number;
  /** Bytes allocated on the JavaScript heap. */
  heapBytes: number;
}

/** Rounds that do not count: PostgreSQL's plans, caches and V8's feedback vectors are created in them. */
const warmUpRounds = 8;
const countedRounds = 16;

/** Runs a path's rounds, and returns the cost of an item. @param readWal Returns the bytes of write-ahead log written so far. */
export async function costOf(path: Path, pool: pg.Pool, readWal: () => Promise<number>): Promise<Cost> {
  const rounds: Cost[] = [];
  // Collects garbage now, so that V8 does not collect during a round, which would free more than the round allocates.
  globalThis.gc!();
  for (let round = -warmUpRounds; round < countedRounds; round++) {
    await path.prepare?.();
    const cost = await costOfRound(path, pool, readWal);
    if (round >= 0) rounds.push(cost);
  }
  const statements = median(rounds.map((round) => round.statements));
  // Other rounds include a background statement, such as the one that records which keys were used.
  const counted = rounds.filter((round) => round.statements === statements);
  return {
    statements: statements / path.items,
    // Index pages split in some rounds only, so the cost of an item is the mean. The lowest and the highest round are left out:
    // the first round of a minute or an hour adds rows to statistics.
    walBytes: innerMean(counted.map((round) => round.walBytes)) / path.items,
    // A busy machine adds a few allocations to some rounds, for example when an answer arrives in two pieces.
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

/** The mean without the lowest and the highest value. */
function innerMean(values: readonly number[]): number {
  const inner = values.toSorted((one, other) => one - other).slice(1, -1);
  return inner.reduce((sum, value) => sum + value, 0) / inner.length;
}

/** Undisturbed rounds allocate about the same. A garbage collection during a round makes one low outlier. */
function lowerQuartile(values: readonly number[]): number {
  return values.toSorted((one, other) => one - other)[values.length >> 2]!;
}

function median(values: readonly number[]): number {
  return values.toSorted((one, other) => one - other)[values.length >> 1]!;
}
