/** What one run of `npm run bench -- figures` found: `docs/figures/figures.json`. Charts and tables are made from it alone. */
export interface FiguresRecord {
  /** `quick` for a first look, with short rounds and fewer stored events. */
  run: "full" | "quick";
  /** The day of the run, as ISO 8601 has it. */
  date: string;
  /** Of the repository; `+` behind it where files had been changed. */
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
  /** What the disk does one after the other: flushes of 8 KiB, and MB in flushes of 1 MiB, a second. */
  flushesPerSecond: number;
  flushedMegabytesPerSecond: number;
  node: string;
  postgres: string;
}

export interface FiguresSize {
  /** That count; one before them warms up. */
  rounds: number;
  /** How long items are put in, in each turn. */
  turnMs: number;
  /** The most items, and bytes of them, that a turn puts in, and how many a drain begins with. */
  maxItems: number;
  maxBytes: number;
  drainItems: number;
  storedEvents: number;
}

export const measures = ["intake", "in-and-out", "drain"] as const;
export type Measure = (typeof measures)[number];
export const payloadSizes = [200, 2_000, 100_000] as const;
export const targetCounts = [1, 10, 1_000] as const;

/** What one item cost. */
export interface ItemCost {
  /** Processor time, in microseconds. */
  nodeUs: number;
  postgresUs: number;
  walBytes: number;
}

/** Parts of the time of the machine's processors, from 0 to 1. */
export interface MachineParts {
  idle: number;
  /** Idle while something waited for the disk. */
  diskWait: number;
  /** Taken by other virtual machines. */
  stolen: number;
}

export interface MatrixFigure extends ItemCost, MachineParts {
  measure: Measure;
  payloadBytes: number;
  targets: number;
  storedEvents: number;
  /** The median of the rounds. */
  perSecond: number;
  /** To the same HTTP work without storage, of the same round. */
  ratio: number;
  /** Of the 202; of intake alone. */
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

/** Of one item. */
interface PublicationSide {
  perSecond: number;
  /** Processor time of Node and PostgreSQL together. */
  cpuUs: number;
  walBytes: number;
}

export interface BesideFigure {
  name: string;
  /** A second. */
  without: number;
  beside: number;
  ratio: number;
}

/** To three digits that count; what is beyond them is noise. */
export function rounded(value: number): number {
  return Number(value.toPrecision(3));
}

/** A ratio, or a part of a whole. */
export function roundedRatio(value: number): number {
  return Number(value.toFixed(2));
}
