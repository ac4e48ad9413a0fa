import { expect, it, onTestFinished, vi } from "vitest";
import { createQuiet } from "../runtime/quiet.ts";
import { createLog } from "../telemetry/log.ts";
import { quietEveryMs, startLoop } from "./chore.ts";

/** A chore of every second in a process that is quiet after a minute, on a clock of its own. */
function startChore(work: () => number) {
  vi.useFakeTimers();
  let runs = 0;
  const quiet = createQuiet({ afterMs: 60_000, now: () => performance.now() });
  const chore = { name: "test", everyMs: 1_000, runOnce: async () => ({ pieces: (runs++, work()) }) };
  const loop = startLoop(chore, createLog("silent"), { quiet });
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

it("a chore that finds nothing runs rarely while the process is quiet, and as often as before once it is not", async () => {
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
