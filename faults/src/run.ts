import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import type { Group } from "./actions/action.ts";
import { createSchedule, describeSchedule, type ScheduledStep } from "./actions/schedule.ts";
import { checks } from "./checks/checks.ts";
import { type Clients, startClients } from "./clients/clients.ts";
import type { Facts, Leftovers } from "./facts/facts.ts";
import { gatherFacts, readLeftovers } from "./facts/gatherFacts.ts";
import { type History, Recorder } from "./history/history.ts";
import type { Installation } from "./world/postgres/installation.ts";
import type { Version } from "./world/serviceSlot.ts";
import { startWorld, type World } from "./world/world.ts";

export interface RunInput {
  seed: number;
  /** For how long harm is done. */
  durationMs: number;
  /** Between two steps, on average. */
  meanGapMs: number;
  /** The longest harm of one step. */
  harmMs: number;
  only: readonly Group[];
  senders: number;
  consumers: number;
  installation: Installation;
  template: string;
  /** Gets the clusters, which may lie in memory. */
  dataFolder: string;
  /** Gets the history and the logs. */
  outputFolder: string;
  commands: Record<Version, string | undefined>;
  /** Ends the run before its time. */
  signal: AbortSignal;
  say: (line: string) => void;
}

export interface RunResult {
  seed: number;
  schedule: string;
  /** What broke a promise, one sentence each. */
  violations: readonly string[];
  steps: number;
  requests: number;
  acknowledged: number;
  unknown: number;
  deliveries: number;
}

/** After everything serves again, the longest time until nothing is due: leases have to lapse and circuits to close. */
const healLimitMs = 120_000;
const stepLimitMs = 90_000;

/** Builds a world, harms it as the seed says while clients use it, lets it heal and compares. */
export async function run(input: RunInput): Promise<RunResult> {
  const { seed, outputFolder, say } = input;
  for (const folder of [outputFolder, input.dataFolder]) mkdirSync(folder, { recursive: true });
  const steps = createSchedule({ ...input, limits: { harmMs: input.harmMs } });
  const recorder = new Recorder(join(outputFolder, "history.jsonl"));
  const world = await startWorld({
    ...input,
    recorder,
    logFolder: outputFolder,
    hasFullDisk: steps.some(({ group }) => group === "disk"),
  });
  const givingUp = new AbortController();
  try {
    const clients = await startClients({
      ...input,
      world,
      recorder,
      hasPublications: steps.every(({ group }) => group !== "upgrade"),
      givenUp: AbortSignal.any([givingUp.signal, input.signal]),
    });
    await play(steps, { ...input, world, clients, recorder });
    say("healing");
    recorder.note("heal");
    const facts = await inTime(settle(world, clients, recorder), healLimitMs + 60_000, "healing");
    const violations = judge(recorder.history, facts);
    return {
      ...summary(recorder.history),
      seed,
      schedule: describeSchedule(steps),
      steps: steps.length,
      violations,
    };
  } finally {
    givingUp.abort();
    recorder.flush();
    await world.stop();
    recorder.flush();
  }
}

async function play(
  steps: readonly ScheduledStep[],
  { world, clients, recorder, durationMs, signal, say }: RunInput & Playing,
): Promise<void> {
  const begunAtMs = performance.now();
  const underWay: Promise<void>[] = [];
  // In the middle, so that there is something to replay and something left that can harm it.
  const replaying = delay(durationMs / 2, undefined, { signal }).then(() => clients.replay());
  replaying.catch(() => undefined);
  for (const step of steps) {
    await delay(Math.max(0, begunAtMs + step.atMs - performance.now()), undefined, { signal });
    say(step.says);
    recorder.note(step.says);
    const acting = act(step, world, recorder);
    // Awaited with all others in the end.
    acting.catch(() => undefined);
    underWay.push(acting);
  }
  await delay(Math.max(0, begunAtMs + durationMs - performance.now()), undefined, { signal });
  await Promise.all([...underWay, replaying]);
}

interface Playing {
  world: World;
  clients: Clients;
  recorder: Recorder;
}

async function act(step: ScheduledStep, world: World, recorder: Recorder): Promise<void> {
  await inTime(step.act(world), stepLimitMs, step.says);
  recorder.note(`over: ${step.says}`);
}

/** @throws Error when it takes longer; whoever catches it ends what it needs. */
async function inTime<T>(work: Promise<T>, limitMs: number, what: string): Promise<T> {
  const done = new AbortController();
  const late = delay(limitMs, undefined, { signal: done.signal }).then(() => {
    throw new Error(`"${what}" is not over after ${limitMs / 1000} s`);
  });
  try {
    return await Promise.race([work, late]);
  } finally {
    late.catch(() => undefined);
    done.abort();
  }
}

/** Heals the world, waits until nothing is due, and reads what is stored. */
async function settle(world: World, clients: Clients, recorder: Recorder): Promise<Facts> {
  await world.heal();
  await clients.stop();
  const { primary } = world.database;
  const deadlineMs = performance.now() + healLimitMs;
  const read = (): Promise<Leftovers> => readLeftovers(primary);
  await clients.drainMailbox(async () => (await read()).messages === 0 || performance.now() > deadlineMs);
  let left = await read();
  while (Object.values(left).some((count) => count > 0) && performance.now() < deadlineMs) {
    await delay(100);
    left = await read();
  }
  recorder.note("settled", left);
  await clients.readMessages(mailboxIds(recorder.history, clients.addresses.mailboxId));
  return gatherFacts(world, clients.apiKey);
}

function mailboxIds({ calls }: History, mailboxId: string): string[] {
  const ids = calls.flatMap(({ operation, outcome, output }) =>
    operation.op === "send" && operation.targetId === mailboxId && outcome === "ok" ? [output.id!] : [],
  );
  return [...new Set(ids)];
}

function judge(history: History, facts: Facts): string[] {
  return Object.entries(checks).flatMap(([name, check]) =>
    check(history, facts).map((violation) => `${name}: ${violation}`),
  );
}

function summary({
  calls,
  receipts,
}: History): Pick<RunResult, "requests" | "acknowledged" | "unknown" | "deliveries"> {
  const items = calls.filter(({ operation }) => operation.op === "send" || operation.op === "publish");
  return {
    requests: calls.length,
    acknowledged: items.filter(({ outcome }) => outcome === "ok").length,
    unknown: calls.filter(({ outcome }) => outcome === "unknown").length,
    deliveries: receipts.length,
  };
}
