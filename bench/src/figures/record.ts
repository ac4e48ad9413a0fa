/** The record of one run of `npm run bench -- figures`: `docs/figures/figures.json`. Charts and tables are made from it alone. */
export interface FiguresRecord {
  /** `quick` for a first look, with short rounds and fewer stored events. */
  run: "full" | "quick";
  /** The day of the run, as `YYYY-MM-DD`. */
  date: string;
  /** The repository's commit, followed by `+` if files differed from it. */
  commit: string;
  machine: Machine;
  size: FiguresSize;
  matrix: MatrixFigure[];
  bares: BareFigure[];
  neighbours: NeighbourFigure[];
  publications: PublicationFigure[];
  besides: BesideFigure[];
}

export interface Machine {
  cpu: string;
  cores: number;
  memoryGiB: number;
  system: string;
  /** Sequential writes of 8 KiB per second, each flushed. */
  flushesPerSecond: number;
  /** MB per second in sequential writes of 1 MiB, each flushed. */
  flushedMegabytesPerSecond: number;
  node: string;
  postgres: string;
}

export interface FiguresSize {
  /** Rounds that count; a warm-up round precedes them. */
  rounds: number;
  /** The time in which items are posted, in each turn. */
  turnMs: number;
  /** Maximum number of items, and of bytes of items, that a turn posts. */
  maxItems: number;
  maxBytes: number;
  /** Number of items that a drain starts with. */
  drainItems: number;
  storedEvents: number;
}

export const measures = ["intake", "in-and-out", "drain"] as const;
export type Measure = (typeof measures)[number];
export const payloadSizes = [200, 2_000, 100_000] as const;
export const targetCounts = [1, 10, 1_000] as const;

export interface ItemCost {
  /** Processor time of Node and of PostgreSQL, in microseconds. */
  nodeUs: number;
  postgresUs: number;
  walBytes: number;
}

/** Fractions of the processor time of the machine, from 0 to 1. */
export interface MachineParts {
  idle: number;
  /** Idle while a process waited for the disk. */
  diskWait: number;
  /** Used by other virtual machines. */
  stolen: number;
}

export interface MatrixFigure extends ItemCost, MachineParts {
  measure: Measure;
  payloadBytes: number;
  targets: number;
  storedEvents: number;
  /** The median of the rounds. */
  perSecond: number;
  /** Ratio to the rate of the same HTTP work without storage, in the same round. */
  ratio: number;
  /** Latency of the 202; only for intake. */
  p50Ms?: number;
  p99Ms?: number;
  /** Items that were refused or did not arrive. */
  lost: number;
}

export interface BareFigure {
  measure: Measure;
  payloadBytes: number;
  perSecond: number;
}

export interface NeighbourFigure {
  name: string;
  hangingTargets: number;
  alone: NeighbourSide;
  beside: NeighbourSide;
}

interface NeighbourSide {
  p50Ms: number;
  p99Ms: number;
  deliveredPerSecond: number;
}

export interface PublicationFigure {
  targets: number;
  payloadBytes: number;
  published: PublicationSide;
  posted: PublicationSide;
}

/** Rate, and cost of one item. */
interface PublicationSide {
  perSecond: number;
  /** Processor time of Node and PostgreSQL together, in microseconds. */
  cpuUs: number;
  walBytes: number;
}

export interface BesideFigure {
  name: string;
  /** Items per second. */
  without: number;
  beside: number;
  ratio: number;
}

/** Rounds to three significant digits; further digits are noise. */
export function rounded(value: number): number {
  return Number(value.toPrecision(3));
}

/** Rounds a ratio or a fraction. */
export function roundedRatio(value: number): number {
  return Number(value.toFixed(2));
}
