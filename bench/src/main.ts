import { cpus } from "node:os";
import { resolve } from "node:path";
import { parseArgs } from "node:util";
import { dashboardFigures } from "./dashboard/dashboard.ts";
import { beforeFigures } from "./before.ts";
import { drainFigures } from "./drain.ts";
import type { BenchSize, Figure } from "./figures.ts";
import { publishedFigures } from "./figures/run.ts";
import { inAndOutFigures } from "./inAndOut.ts";
import { intakeFigures } from "./intake.ts";
import { latencyFigures } from "./latency.ts";
import { neighboursFigures } from "./neighbours.ts";
import { layerFigures } from "./layers.ts";
import { mailboxFigures, mailboxStoredFigures } from "./mailbox.ts";
import { peerFigures } from "./peers/peers.ts";
import { printTable } from "./printTable.ts";
import { publicationFigures } from "./publications.ts";
import { storedFigures } from "./stored.ts";
import { streamsFigures } from "./streams.ts";
import { tenMillionFigures } from "./tenMillion.ts";
import { upgradeFigures } from "./upgrade/upgrade.ts";

/*
 * npm run bench [-- --quick] [intake] [in-and-out] [latency] [drain] [neighbours] [stored] [mailbox] [mailbox-stored] [layers]
 *   [streams] [publications] [peers] [ten-million] [figures [--stored <events>]] [before --folder <checkout of the version before>] [dashboard]
 *   [upgrade [--stored <events>] [--open-transaction <seconds>]]
 * Each figure is measured against its own ceiling in the same run, because machines and their noise differ;
 * compare ratios, not absolute figures.
 */
const scenarios: Record<string, (size: BenchSize) => Promise<Figure[]>> = {
  intake: intakeFigures,
  "in-and-out": inAndOutFigures,
  latency: latencyFigures,
  drain: drainFigures,
  stored: storedFigures,
  neighbours: neighboursFigures,
  mailbox: mailboxFigures,
  "mailbox-stored": mailboxStoredFigures,
  layers: layerFigures,
  streams: streamsFigures,
  publications: publicationFigures,
  dashboard: dashboardFigures,
  peers: peerFigures,
  "ten-million": tenMillionFigures,
  figures: (measured) => publishedFigures(measured, stored),
  before: (measured) => beforeFigures(measured, resolve(values.folder)),
  upgrade: (measured) =>
    upgradeFigures(measured, {
      events: stored ?? (values.quick ? 300_000 : 10_000_000),
      openTransactionSeconds: Number(values["open-transaction"]),
    }),
};
/** What compares the service with itself, takes a browser, or takes longer than all the rest, runs only when it is asked for. */
const onRequest = new Set([
  "layers",
  "dashboard",
  "streams",
  "publications",
  "peers",
  "ten-million",
  "figures",
  "before",
  "upgrade",
]);

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    quick: { type: "boolean", default: false },
    folder: { type: "string", default: "../before" },
    /** Events that `figures` and `upgrade` store before they measure. */
    stored: { type: "string" },
    /** Seconds for which a transaction stays open that has read events when `upgrade` starts the new version. */
    "open-transaction": { type: "string", default: "0" },
  },
});
const stored = values.stored === undefined ? undefined : Number(values.stored);
const size: BenchSize = values.quick
  ? { durationMs: 7_500, warmupMs: 3_000, drainItems: 20_000 }
  : { durationMs: 15_000, warmupMs: 6_000, drainItems: 50_000 };
const chosen =
  positionals.length > 0 ? positionals : Object.keys(scenarios).filter((name) => !onRequest.has(name));
const unknown = chosen.find((name) => scenarios[name] === undefined);
if (unknown !== undefined) {
  throw new Error(`there is no scenario "${unknown}": choose from ${Object.keys(scenarios).join(", ")}`);
}

// Whoever is stopped ends what was started: programs end with this process when it exits, and not when a signal ends it.
for (const signal of ["SIGINT", "SIGTERM"] as const) process.once(signal, () => process.exit(1));

process.stdout.write(
  `Node ${process.version}, ${cpus().length} cores; items of about 500 B, 64 connections\n\n`,
);
const rows: Figure[] = [];
for (const name of chosen) {
  process.stderr.write(`${name} …\n`);
  rows.push(...(await scenarios[name]!(size)));
}
printTable(rows);
process.exitCode = rows.every((row) => row.isMet !== false) ? 0 : 1;
