import { expect, it, onTestFinished, vi } from "vitest";
import { createQuiet } from "../runtime/quiet.ts";
import { createLog } from "../telemetry/log.ts";
import { quietEveryMs, startLoop } from "./chore.ts";

/** Starts a chore in a process that is quiet after a minute, with a fake clock. */
function startChore(work: () => number, everyMs = 1_000, log = createLog("silent")) {
  vi.useFakeTimers();
  let runs = 0;
  const quiet = createQuiet({ afterMs: 60_000, now: () => performance.now() });
  const chore = { name: "test", everyMs, runOnce: async () => ({ pieces: (runs++, work()) }) };
  const loop = startLoop(chore, log, { quiet });
  onTestFinished(async () => {
    vi.useRealTimers();
    await loop.stop();
  });
  return {
    quiet,
    runsIn: async (ms: number): Promise<number> => {
      const before = runs;
      await vi.advanceTimersByTimeAsync(ms);
      return runs - before;
    },
  };
}

it("a chore that finds nothing runs rarely while the process is quiet, and at its usual interval afterwards", async () => {
  const { quiet, runsIn } = startChore(() => 0);
  expect(await runsIn(59_500)).toBe(60);
  await runsIn(10_000);
  expect(await runsIn(4 * quietEveryMs)).toBe(4);
  quiet.note();
  expect(await runsIn(10_000)).toBe(10);
});

it("a chore that finds work keeps its process from being quiet", async () => {
  const { runsIn } = startChore(() => 1);
  await runsIn(120_000);
  expect(await runsIn(10_000)).toBe(10);
});

it("a chore that finds work after a long pause runs at its usual interval again, and not twice as often", async () => {
  let pieces = 0;
  const { runsIn } = startChore(() => pieces);
  await runsIn(75_500);
  pieces = 1;
  await runsIn(quietEveryMs);
  pieces = 0;
  expect(await runsIn(10_000)).toBe(10);
});

it("a chore with a long interval keeps it when the process becomes quiet, and when that ends", async () => {
  const everyMs = 100_000;
  const { quiet, runsIn } = startChore(() => 0, everyMs);
  expect(await runsIn(everyMs + 90_000)).toBe(2);
  quiet.note();
  expect(await runsIn(10_500)).toBe(1);
  expect(await runsIn(everyMs)).toBe(1);
});

it("a chore that keeps failing is logged at each new reason and once in half a minute, and when it succeeds again", async () => {
  const lines: unknown[] = [];
  const write = (text: string): void => {
    const { msg, failures, err } = JSON.parse(text);
    lines.push([msg, failures ?? err.message]);
  };
  const log = createLog("info", { destination: { write, flush: () => Promise.resolve() } });
  let failure: string | undefined = "the database is away";
  const { runsIn } = startChore(
    () => {
      if (failure === undefined) return 0;
      throw new Error(failure);
    },
    1_000,
    log,
  );
  await runsIn(45_500);
  failure = "the database is read-only";
  await runsIn(4_000);
  failure = undefined;
  await runsIn(quietEveryMs);
  expect(lines).toEqual([
    ["a chore failed; it is tried again", "the database is away"],
    ["a chore failed; it is tried again", "the database is away"],
    ["a chore failed; it is tried again", "the database is read-only"],
    ["a chore succeeds again", 50],
  ]);
});
