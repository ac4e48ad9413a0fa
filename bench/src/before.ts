import { access } from "node:fs/promises";
import { join } from "node:path";
import type { BenchSize, Figure } from "./figures.ts";
import { claims, drain, drainOfMany, figureOf, intake } from "./layers.ts";

/** Lowest accepted ratio of this version's rate to the previous version's. */
const goal = 0.95;

/**
 * Compares this version with the previous one in alternating rounds. A figure is the median over the rounds of this version's
 * rate divided by the previous version's.
 * @param folder A checkout of the previous version, with its packages installed.
 */
export async function beforeFigures(size: BenchSize, folder: string): Promise<Figure[]> {
  const cli = join(folder, "server/src/process/cli.ts");
  await access(cli);
  const found: Figure[] = [];
  for (const measure of [intake, drain, drainOfMany, claims]) {
    process.stderr.write(`  ${measure.name} …\n`);
    const measured = await measure.run(size, { cli });
    const figure = figureOf(`${measure.name}, this version compared with the other`, measured, goal);
    process.stderr.write(`  ${figure.ratio?.toFixed(2)}: ${figure.value}\n`);
    found.push(figure);
  }
  return found;
}
