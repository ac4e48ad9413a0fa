/** One line of the report. */
export interface Figure {
  name: string;
  value: string;
  /** Ratio to the ceiling measured in the same run, if the figure has one. */
  ratio?: number;
  /** The goal, and whether the figure meets it. */
  goal?: string;
  isMet?: boolean;
}

export interface BenchSize {
  durationMs: number;
  warmupMs: number;
  drainItems: number;
}

/** The length of one run, of which the first `warmupMs` do not count. */
export type Slice = Pick<BenchSize, "durationMs" | "warmupMs">;

/** Number of rounds. Both sides run in alternating short rounds, so that background load affects both equally. */
export const rounds = 15;

/** A warm-up round for just-in-time compilers and caches, which does not count. */
export function warmUp(size: BenchSize): Slice {
  return { durationMs: size.warmupMs, warmupMs: 0 };
}

/** A round that counts. */
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

export function printTable(figures: Figure[]): void {
  const cells = figures.map((figure) => [
    figure.name,
    figure.value,
    figure.ratio === undefined ? "" : figure.ratio.toFixed(2),
    figure.goal ?? "",
    figure.isMet === undefined ? "" : figure.isMet ? "met" : "MISSED",
  ]);
  const head = ["figure", "measured", "ratio", "goal", ""];
  const widths = head.map((title, column) =>
    Math.max(title.length, ...cells.map((row) => row[column]!.length)),
  );
  for (const row of [head, widths.map((width) => "-".repeat(width)), ...cells]) {
    process.stdout.write(`| ${row.map((cell, column) => cell.padEnd(widths[column]!)).join(" | ")} |\n`);
  }
}
