import { readFile, writeFile } from "node:fs/promises";
import type { Figure } from "../figures.ts";
import { budgetText, type Costs, figures, isWithin, tolerance, units } from "./compareBudget.ts";
import { measureBudget } from "./measureBudget.ts";

const file = new URL("../../budget.json", import.meta.url);

export async function readBudget(): Promise<Costs> {
  return JSON.parse(await readFile(file, "utf8")) as Costs;
}

/** The cost of an item on each path, with its budget; with `isWriting`, the measured costs become the new budget. */
export async function budgetFigures(isWriting: boolean): Promise<Figure[]> {
  const measured = await measureBudget();
  if (isWriting) await writeFile(file, budgetText(measured));
  const budget = await readBudget();
  return Object.entries(measured).flatMap(([path, cost]) =>
    figures.map((figure) => figureOf(`${path}: ${units[figure]}`, cost[figure], budget[path]?.[figure])),
  );
}

function figureOf(name: string, value: number, budget: number | undefined): Figure {
  const shown = value.toLocaleString("en", { maximumSignificantDigits: 4 });
  if (budget === undefined) return { name, value: shown, goal: "none yet", isMet: false };
  const goal = `${budget} ± ${tolerance * 100} %`;
  return { name, value: shown, ratio: value / budget, goal, isMet: isWithin(value, budget) };
}
