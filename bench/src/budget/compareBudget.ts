import type { Cost } from "./counters.ts";

export type Costs = Readonly<Record<string, Cost>>;

/** How far a figure may be from its budget, as a fraction of it. Ten runs on a busy machine differed by at most 1.8 %. */
export const tolerance = 0.03;

const writeCommand = "npm run bench -- budget --write";

export const units: Readonly<Record<keyof Cost, string>> = {
  statements: "statements",
  walBytes: "bytes of WAL",
  heapBytes: "bytes of the JavaScript heap",
};

export const figures = ["statements", "walBytes", "heapBytes"] as const satisfies (keyof Cost)[];

/**
 * Describes each figure outside its budget, and says what to do. A figure below its budget counts too: until the budget is
 * lowered, the path could become more expensive again unnoticed.
 */
export function breaches(measured: Costs, budget: Costs): string[] {
  const unmeasured = Object.keys(budget).filter((path) => measured[path] === undefined);
  return [
    ...Object.entries(measured).flatMap(([path, cost]) => breachesOf(path, cost, budget[path])),
    ...unmeasured.map((path) => `"${path}" has a budget and is not measured: run ${writeCommand}`),
  ];
}

function breachesOf(path: string, cost: Cost, budget: Cost | undefined): string[] {
  if (budget === undefined) return [`"${path}" has no budget: run ${writeCommand}`];
  return figures
    .filter((figure) => !isWithin(cost[figure], budget[figure]))
    .map((figure) => {
      const [now, before] = [cost[figure], budget[figure]];
      const percent = Math.abs((now / before - 1) * 100).toFixed(1);
      const head = `"${path}" costs ${round(now)} ${units[figure]} an item, ${percent} %`;
      return now > before
        ? `${head} more than its budget of ${round(before)}: spend less, or run ${writeCommand} and commit the file with the reason`
        : `${head} less than its budget of ${round(before)}: run ${writeCommand} and commit the file, to keep the lower cost`;
    });
}

export function isWithin(value: number, budget: number): boolean {
  return Math.abs(value - budget) <= budget * tolerance;
}

/** The text of `budget.json`: a line for each path. */
export function budgetText(costs: Costs): string {
  const lines = Object.entries(costs).map(([path, cost]) => {
    const values = figures.map((figure) => `"${figure}": ${round(cost[figure])}`);
    return `  ${JSON.stringify(path)}: { ${values.join(", ")} }`;
  });
  return `{\n${lines.join(",\n")}\n}\n`;
}

/** Rounds to four significant digits, and from 1,000 on to a whole number. */
function round(value: number): number {
  return value >= 1_000 ? Math.round(value) : Number(value.toPrecision(4));
}
