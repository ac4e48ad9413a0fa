import { setPriority } from "node:os";
import type { BenchService } from "../benchService.ts";
import { atLeast, type BenchSize, type Figure, median, perSecond, warmUp } from "../figures.ts";
import { runLoad } from "../load.ts";
import type { Program } from "../processes.ts";
import { closedLoop, connections, fixedItem, host } from "../workload.ts";
import type { Visitor } from "./account.ts";
import { type Browser, type Page, told, watchFrames } from "./watchPage.ts";

const rate = 5_000;
const turns = 7;
const livePages = [
  ["/", "Overview"],
  ["/items", "Items"],
] as const;

export interface LiveDeps {
  service: BenchService;
  receiver: Program;
  browser: Browser;
}

/** Measures a page that follows 5,000 items per second, and how much an open page slows a saturated service. */
export async function liveFigures(
  { service, receiver, browser }: LiveDeps,
  { page, key }: Visitor,
  size: BenchSize,
): Promise<Figure[]> {
  const url = `http://${host}:${receiver.port}/`;
  const target = await service.createTarget({ kind: "webhook", name: "live", url }, key);
  const request = fixedItem({ key }, target);
  await closedLoop(service.port, warmUp(size), request);
  const load = (): ReturnType<typeof runLoad> =>
    runLoad({
      host,
      port: service.port,
      connections,
      rate,
      durationMs: size.durationMs,
      expect: 202,
      request,
    });
  const figures: Figure[] = [];
  await page.goto("about:blank");
  figures.push({
    name: `frames of a blank page beside ${rate.toLocaleString("en")} items/s, p50 / p95 / p99 / worst`,
    value: told(await watchFrames(page, load)),
  });
  for (const [path, heading] of livePages) {
    await openLive(page, path, heading);
    const frames = await watchFrames(page, load);
    figures.push({ name: `frames of ${heading}`, value: told(frames) });
  }
  const results = await besideOpenPage({ browser, page, turns }, () =>
    closedTurn(service.port, request, size),
  );
  return [...figures, ...throughput(results)];
}

async function openLive(page: Page, path: string, heading: string): Promise<void> {
  await page.goto(path);
  await page.getByRole("heading", { name: heading, exact: true }).waitFor();
  await page.getByRole("button", { name: /^Live/ }).waitFor();
}

async function closedTurn(port: number, request: () => Buffer, size: BenchSize): Promise<number> {
  return (await closedLoop(port, { durationMs: size.durationMs / 4, warmupMs: 500 }, request)).perSecond;
}

/** The rates of one turn without the open page and of one with it. */
export interface PageTurns {
  without: number;
  open: number;
  /** Requests of the page in its turn. */
  requests: number;
}

/** Runs `turn` alternately without a page and with the overview open. */
export async function besideOpenPage(
  { browser, page, turns: rounds }: { browser: Browser; page: Page; turns: number },
  turn: () => Promise<number>,
): Promise<PageTurns[]> {
  let requests = 0;
  page.on("request", () => requests++);
  // In practice the browser runs on another machine, so it gets the lowest priority here.
  for (const pid of await processIds(browser)) setPriority(pid, 19);
  const results: PageTurns[] = [];
  for (let round = 0; round < rounds; round++) {
    await page.goto("about:blank");
    const without = await turn();
    await openLive(page, "/", "Overview");
    requests = 0;
    results.push({ without, open: await turn(), requests });
  }
  return results;
}

/** Compares the rates of the closed loop with the page open and without it. */
function throughput(results: readonly PageTurns[]): Figure[] {
  const open = median(results.map((one) => one.open));
  const without = median(results.map((one) => one.without));
  return [
    atLeast(
      "accepted with the overview open ÷ with none",
      median(results.map((one) => one.open / one.without)),
      0.95,
      `${perSecond(open)} beside ${perSecond(without)}`,
    ),
    {
      name: "requests of the open page in such a turn",
      value: String(median(results.map((one) => one.requests))),
    },
  ];
}

async function processIds(browser: Browser): Promise<number[]> {
  const session = await browser.newBrowserCDPSession();
  const { processInfo } = await session.send("SystemInfo.getProcessInfo");
  return processInfo.map(({ id }) => id);
}
