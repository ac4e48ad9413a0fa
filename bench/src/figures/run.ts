import { atMost, type BenchSize, type Figure, perSecond } from "../figures.ts";
import { measureBesides } from "./beside.ts";
import { writeFigures } from "./files.ts";
import { describeMachine, measuredCommit } from "./machine.ts";
import { measureMatrix } from "./matrix.ts";
import { neighbourFigures, publicationsOf } from "./others.ts";
import type { FiguresRecord, FiguresSize } from "./record.ts";
import { bytesOf, ratioOf, storedOf, targetsOf } from "./words.ts";

const limits = { maxItems: 200_000, maxBytes: 100_000_000 };
const full: FiguresSize = {
  ...limits,
  rounds: 3,
  turnMs: 1_000,
  drainItems: 10_000,
  storedEvents: 10_000_000,
};
const quick: FiguresSize = { ...limits, rounds: 1, turnMs: 400, drainItems: 2_000, storedEvents: 1_000_000 };

/**
 * Measures all figures in the section "Postrider by itself" of `docs/benchmarks.md`; writes the record of the run, the charts and
 * the tables.
 * @param storedEvents Events stored in the filled service; when absent, the number that belongs to the size.
 */
export async function publishedFigures(size: BenchSize, storedEvents?: number): Promise<Figure[]> {
  const run = size.drainItems < 50_000 ? "quick" : "full";
  const sizes = { ...(run === "quick" ? quick : full), ...(storedEvents !== undefined && { storedEvents }) };
  const startedAt = performance.now();
  const say = (what: string): void => {
    const seconds = ((performance.now() - startedAt) / 1_000).toFixed(0);
    process.stderr.write(`  ${seconds.padStart(4)} s  ${what}\n`);
  };
  const commit = measuredCommit();
  const machine = await describeMachine();
  say("beside a dashboard and streams");
  const besides = await measureBesides(sizes);
  say("publications");
  const publications = await publicationsOf(sizes);
  say("neighbours that hang");
  const neighbours = await neighbourFigures(sizes);
  const { matrix, bares, postgres } = await measureMatrix(sizes, say);
  const record: FiguresRecord = {
    run,
    date: new Date().toISOString().slice(0, 10),
    commit,
    machine: { ...machine, postgres },
    size: sizes,
    matrix,
    bares,
    neighbours,
    publications,
    besides,
  };
  await writeFigures(record);
  say("written to docs/figures and docs/benchmarks.md");
  const told = matrix.map((one) => ({
    name: `${one.measure}, ${bytesOf(one.payloadBytes)}, ${targetsOf(one.targets)}, ${storedOf(one.storedEvents)}`,
    value: `${perSecond(one.perSecond)}, ${ratioOf(one.ratio)} of bare`,
  }));
  const lost = matrix.reduce((sum, one) => sum + one.lost, 0);
  return [...told, atMost("items that were refused or did not arrive", lost, 0, "")];
}
