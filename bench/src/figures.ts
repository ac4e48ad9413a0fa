/** One line of the report. */
export interface Figure {
  name: string;
  value: string;
  /** Against the ceiling of the same run, where the figure has one. */
  ratio?: number;
  /** What the figure has to reach, and whether it did. */
  goal?: string;
  isMet?: boolean;
}

export interface BenchSize {
  durationMs: number;
  warmupMs: number;
  drainItems: number;
}

/** How long one run is: it counts after `warmupMs`. */
export type Slice = Pick<BenchSize, "durationMs" | "warmupMs">;

/** Short runs of each kind by turns, so that whatever else the machine does falls on all of them. */
export const rounds = 15;

/** A round that only warms up, for just-in-time compilers and caches; what it measures does not count. */
export function warmUp(size: BenchSize): Slice {
  return { durationMs: size.warmupMs, warmupMs: 0 };
}

/** One of the rounds that count. */
export function sliceOf(size: BenchSize): Slice {
  return { durationMs: size.durationMs / rounds, warmupMs: 200 };
}

export function median(values: number[]): number {
  return values.toSorted((a, b) => a - b)[values.length >> 1]!;
}

export function atLeast(name: string, ratio: number, goal: number, value: string): Figure {
  return { name, value, ratio, goal: `≥ ${goal}`, isMet: ratio >= goal };
}

export function atMost(name: string, value: number, goal: number, unit = "ms"): Figure {
  return {
    name,
    value: `${value.toFixed(unit === "ms" ? 1 : 3)} ${unit}`.trimEnd(),
    goal: `≤ ${goal} ${unit}`.trimEnd(),
    isMet: value <= goal,
  };
}

export function perSecond(count: number): string {
  return `${whole(count)}/s`;
}

export function whole(value: number): string {
  return Math.round(value).toLocaleString("en");
}
