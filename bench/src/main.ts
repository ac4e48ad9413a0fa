import { cpus } from "node:os";
import { resolve } from "node:path";
import { parseArgs } from "node:util";
import { budgetFigures } from "./budget/budget.ts";
import { dashboardFigures } from "./dashboard/dashboard.ts";
import { beforeFigures } from "./before.ts";
import { drainFigures } from "./drain.ts";
import { type BenchSize, type Figure, printTable } from "./figures.ts";
import { publishedFigures } from "./figures/run.ts";
import { inAndOutFigures } from "./inAndOut.ts";
import { intakeFigures } from "./intake.ts";
import { latencyFigures } from "./latency.ts";
import { neighboursFigures } from "./neighbours.ts";
import { layerFigures } from "./layers.ts";
import { mailboxFigures } from "./mailbox.ts";
import { peerFigures } from "./peers/peers.ts";
import { endOnSignals, endRunning } from "./processes.ts";
import { publicationFigures } from "./publications.ts";
import { processesFigures } from "./severalProcesses.ts";
import { streamsFigures } from "./streams.ts";
import { tenMillionFigures } from "./tenMillion.ts";
import { upgradeFigures } from "./upgrade/upgrade.ts";

type Scenario = (size: BenchSize) => Promise<Figure[]>;

/** Scenarios that run when none is named. */
const standard: Record<string, Scenario> = {
  intake: intakeFigures,
  "in-and-out": inAndOutFigures,
  latency: latencyFigures,
  drain: drainFigures,
  neighbours: neighboursFigures,
  mailbox: mailboxFigures,
};

/** Scenarios that run only when named: some need another version or a browser, some take longer than all standard ones. */
const onRequest: Record<string, Scenario> = {
  budget: () => budgetFigures(values.write),
  processes: processesFigures,
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
      openTransactionSeconds: wholeNumber("open-transaction", values["open-transaction"]),
    }),
};
const scenarios = { ...standard, ...onRequest };

const usage = `npm run bench [-- --quick] [<scenario> ...]
  figures [--stored <events>]
  budget [--write]
  before --folder <checkout of another version>
  upgrade [--stored <events>] [--open-transaction <seconds>]

Without a name: ${Object.keys(standard).join(", ")}. By name only: ${Object.keys(onRequest).join(", ")}.
A scenario compares with a ceiling that is measured in the same run, because machines and their noise differ.
Compare ratios, not absolute figures. bench/README.md describes every scenario.
`;

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    help: { type: "boolean", default: false },
    quick: { type: "boolean", default: false },
    folder: { type: "string", default: "../before" },
    /** Whether the costs that `budget` measures become the new budget. */
    write: { type: "boolean", default: false },
    /** Events that `figures` and `upgrade` store before they measure. */
    stored: { type: "string" },
    /** Seconds for which a transaction that has read events stays open when `upgrade` starts the new version. */
    "open-transaction": { type: "string", default: "0" },
  },
});
const stored = values.stored === undefined ? undefined : wholeNumber("stored", values.stored);
const size: BenchSize = values.quick
  ? { durationMs: 7_500, warmupMs: 3_000, drainItems: 20_000 }
  : { durationMs: 15_000, warmupMs: 6_000, drainItems: 50_000 };
const chosen = positionals.length > 0 ? positionals : Object.keys(standard);
const unknown = chosen.find((name) => scenarios[name] === undefined);
if (unknown !== undefined) {
  throw new Error(`there is no scenario "${unknown}": choose from ${Object.keys(scenarios).join(", ")}`);
}

endOnSignals();
if (values.help) process.stdout.write(usage);
else {
  try {
    await measure();
  } finally {
    await endRunning();
  }
}

/** Reads a whole number. @throws for any other text, which would be published as NaN. */
function wholeNumber(option: string, text: string): number {
  if (/^\d{1,9}$/.test(text)) return Number(text);
  throw new Error(`--${option} must be a whole number, without separators: ${text}`);
}

async function measure(): Promise<void> {
  process.stdout.write(
    `Node ${process.version}, ${cpus().length} cores; items of about 500 B, 64 connections\n\n`,
  );
  const rows: Figure[] = [];
  try {
    for (const name of chosen) {
      process.stderr.write(`${name} …\n`);
      rows.push(...(await scenarios[name]!(size)));
    }
  } finally {
    // Also if a scenario fails: the figures before it took minutes.
    printTable(rows);
  }
  process.exitCode = rows.every((row) => row.isMet !== false) ? 0 : 1;
}
