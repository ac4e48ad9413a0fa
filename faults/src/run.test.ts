import { expect, it } from "vitest";
import { groups } from "./actions/action.ts";
import { createSchedule, describeSchedule } from "./actions/schedule.ts";
import type { EpisodeResult } from "./episode.ts";
import { planWorlds } from "./planWorlds.ts";
import { run } from "./run.ts";
import { testSession } from "./testSession.ts";

/** The six seconds of this seed contain a kill, a failover, a swallowed answer and terminated sessions. */
const seed = 222;
const size = { seed, durationMs: 6_000, meanGapMs: 900, harmMs: 1_500, only: groups, isOnCitus: false };

it("a run of faults keeps every promise", async ({ onTestFinished }) => {
  const { session, folder: outputFolder } = await testSession(onTestFinished);
  const results: EpisodeResult[] = [];
  await run({
    ...size,
    seeds: [seed],
    session,
    senders: 3,
    consumers: 2,
    dataFolder: session.newDataFolder("gate"),
    outputFolder,
    signal: AbortSignal.timeout(150_000),
    say: () => undefined,
    onResult: (result) => results.push(result) > 0,
  });
  const [result] = results;
  expect(result!.violations, result!.schedule).toEqual([]);
  expect(result!.acknowledged, "senders were at work").toBeGreaterThan(0);
  expect(result!.unknown, "harm was done").toBeGreaterThan(0);
});

it("equal seeds give equal schedules, and different seeds different ones", () => {
  const input = { ...size, durationMs: 60_000, limits: { harmMs: size.harmMs } };
  const told = describeSchedule(createSchedule(input));
  expect(describeSchedule(createSchedule(input))).toBe(told);
  expect(describeSchedule(createSchedule({ ...input, seed: 2 }))).not.toBe(told);
});

it("on Citus each node has faults, and cells move", () => {
  const input = { ...size, durationMs: 600_000, isOnCitus: true, limits: { harmMs: 1 } };
  const told = describeSchedule(createSchedule(input));
  for (const harm of [
    "SIGKILL to the coordinator",
    "SIGSTOP the worker-2",
    "everybody to worker-1",
    "move cell",
  ])
    expect(told).toContain(harm);
});

it("--only limits the schedule to the named actions", () => {
  const steps = createSchedule({
    ...size,
    durationMs: 600_000,
    only: ["kill", "promote"],
    limits: { harmMs: 1 },
  });
  expect(new Set(steps.map(({ group }) => group))).toEqual(new Set(["kill", "promote"]));
});

it("seeds share a world with seeds of their kind, and each is played once", () => {
  const next = planWorlds([1, 2, 3, 4, 5, 6, 7].values(), 2, (seed) => seed % 3 === 0);
  expect([next(), next(), next(), next(), next()]).toEqual([[1, 2], [4, 5], [3, 6], [7], undefined]);
});
