import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { chartsOf } from "./charts.ts";
import { pageOf } from "./page.ts";
import type { FiguresRecord } from "./record.ts";

const root = join(import.meta.dirname, "../../..");
const recordPath = "docs/figures/figures.json";
const pagePath = "docs/benchmarks.md";

/** The files made from the record of the last run: charts, and the page with its tables. Paths are relative to the repository. */
export async function figureFiles(): Promise<{ path: string; text: string }[]> {
  const record = JSON.parse(await readFile(join(root, recordPath), "utf8")) as FiguresRecord;
  const charts = Object.entries(await chartsOf(record));
  return [
    ...charts.map(([name, text]) => ({ path: `docs/figures/${name}.svg`, text })),
    { path: pagePath, text: pageOf(await readFile(join(root, pagePath), "utf8"), record) },
  ];
}

/** Writes the record of a run, the charts and the page. */
export async function writeFigures(record: FiguresRecord): Promise<void> {
  await writeFile(join(root, recordPath), `${JSON.stringify(record, null, 2)}\n`);
  for (const { path, text } of await figureFiles()) await writeFile(join(root, path), text);
}
