import { startBrowser } from "../../../dashboard/test/support/browser.ts";
import { buildIfStale } from "../../../dashboard/test/support/build.ts";
import { type BenchService, startService } from "../benchService.ts";
import { visitor } from "../dashboard/account.ts";
import { besideOpenPage } from "../dashboard/live.ts";
import { median } from "../figures.ts";
import { openStreams } from "../openStreams.ts";
import { startProgram } from "../processes.ts";
import { host, inTemporaryDirectory } from "../workload.ts";
import { loadOf, requestsTo } from "./load.ts";
import { type BesideFigure, type FiguresSize, rounded, roundedRatio } from "./record.ts";
import { sending } from "./sides.ts";
import { inAndOutTurn } from "./turns.ts";

const payloadBytes = 2_000;
/** Streams of the organization that accepts the items. */
const readStreams = 50;
const stuckStreams = 50;

/** The in-and-out rate beside an open dashboard, and beside streams of the same organization. */
export async function measureBesides(size: FiguresSize): Promise<BesideFigure[]> {
  await buildIfStale();
  const receiver = await startProgram("./receiver.ts");
  const browser = await startBrowser();
  const rounds = size.rounds * 2 + 1;
  try {
    return await inTemporaryDirectory(async (dataDir) => {
      const service = await startService({ dataDir, settings: sending });
      const url = `http://${host}:${receiver.port}/`;
      const { page, key } = await visitor(browser, service.port);
      const viewed = await service.createTarget({ kind: "webhook", name: "viewed", url }, key);
      const rateOf = rateAt(service.port, receiver.port, size);
      await rateOf(key, viewed);
      const turns = await besideOpenPage({ browser, page, turns: rounds }, () => rateOf(key, viewed));
      const dashboard = figureOf(
        "the overview of the dashboard open in a browser",
        turns.map(({ without, open }) => ({ without, beside: open })),
      );
      await page.goto("about:blank");
      const target = await service.createTarget({ kind: "webhook", name: "watched", url });
      const otherKey = await service.signUp();
      const other = await service.createTarget({ kind: "webhook", name: "other", url }, otherKey);
      const streams = await besideStreams(service, rounds, {
        without: () => rateOf(otherKey, other),
        beside: () => rateOf(service.key, target),
      });
      await service.stop();
      return [dashboard, streams];
    });
  } finally {
    await browser.close();
    await receiver.stop();
  }
}

interface Pair {
  without: number;
  beside: number;
}

/**
 * Alternates between an organization without streams and one with them, because the service watches an organization for another
 * minute after its last stream.
 */
async function besideStreams(
  { port, key }: BenchService,
  rounds: number,
  { without, beside }: { without: () => Promise<number>; beside: () => Promise<number> },
): Promise<BesideFigure> {
  const own = Array.from({ length: readStreams }, () => key);
  const read = await openStreams(port, own);
  const stuck = await openStreams(port, own.slice(0, stuckStreams), false);
  const pairs: Pair[] = [];
  for (let round = 0; round <= rounds; round++) {
    const pair = { without: await without(), beside: await beside() };
    // The first round warms up.
    if (round > 0) pairs.push(pair);
  }
  await Promise.all([read.close(), stuck.close()]);
  return figureOf(
    `${readStreams + stuckStreams} streams of the organization, half of them never read`,
    pairs,
  );
}

function rateAt(port: number, receiverPort: number, size: FiguresSize) {
  const load = loadOf(payloadBytes, size);
  return async (key: string, target: string): Promise<number> => {
    const request = requestsTo(key, [target], load);
    const { perSecond, lost } = await inAndOutTurn(port, receiverPort, { load, request, size });
    if (lost > 0) throw new Error(`${lost} items were refused or not delivered in time`);
    return perSecond;
  };
}

function figureOf(name: string, pairs: readonly Pair[]): BesideFigure {
  return {
    name,
    without: rounded(median(pairs.map((pair) => pair.without))),
    beside: rounded(median(pairs.map((pair) => pair.beside))),
    ratio: roundedRatio(median(pairs.map((pair) => pair.beside / pair.without))),
  };
}
