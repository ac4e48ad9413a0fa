import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import type { Group } from "./actions/action.ts";
import { createSchedule, describeSchedule, type ScheduledStep } from "./actions/schedule.ts";
import { checks } from "./checks/checks.ts";
import { type Clients, startClients } from "./clients/clients.ts";
import type { Facts, Leftovers } from "./facts/facts.ts";
import { describeWaiting, gatherFacts, readLeftovers } from "./facts/gatherFacts.ts";
import { type History, Recorder } from "./history/history.ts";
import type { World } from "./world/world.ts";

export interface EpisodeInput {
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
  /** Gets the history. */
  outputFolder: string;
  /** Ends the episode before its time. */
  signal: AbortSignal;
  say: (line: string) => void;
}

export interface EpisodeResult {
  seed: number;
  schedule: string;
  /** What broke a promise, one sentence each. */
  violations: readonly string[];
  steps: number;
  requests: number;
  acknowledged: number;
  unknown: number;
  deliveries: number;
  tookMs: Phases;
}

/** How long each part took. */
export interface Phases {
  begin: number;
  harm: number;
  heal: number;
  judge: number;
}

export interface Episode {
  result: EpisodeResult;
  /** Compares its history once more with what is stored now, after what was done later. */
  judgeAgain: () => Promise<string[]>;
}

/** After everything serves again, the longest time until nothing is due. Long: how soon that is, is not what is judged. */
const healLimitMs = 1_200_000;
const stepLimitMs = 1_200_000;
/**
 * How long answers are still swallowed after that. Each costs an attempt, and waits between attempts grow threefold: ten answers
 * of an agent that few items go to would hold one up for most of an hour.
 */
const swallowLimitMs = 30_000;
/** Between two looks at what is left. */
const lookEveryMs = 200;

/** What the seed does to a world, and when. */
export function stepsOf(input: Omit<EpisodeInput, "outputFolder" | "signal" | "say">): ScheduledStep[] {
  return createSchedule({ ...input, limits: { harmMs: input.harmMs } });
}

/**
 * An organization of its own with targets and clients uses a world that is in order; the world is harmed as the seed says, heals,
 * and what was seen is compared with what is stored of the organization, and of everybody with what may be left.
 */
export async function playEpisode(world: World, input: EpisodeInput): Promise<Episode> {
  const { seed, outputFolder, say } = input;
  const lap = stopwatch();
  mkdirSync(outputFolder, { recursive: true });
  const steps = stepsOf(input);
  const recorder = new Recorder(join(outputFolder, "history.jsonl"));
  const givingUp = new AbortController();
  try {
    const clients = await startClients({
      ...input,
      world,
      recorder,
      receiversUrl: await world.begin(seed, recorder),
      hasVersionBefore: steps.some(({ group }) => group === "upgrade"),
      givenUp: AbortSignal.any([givingUp.signal, input.signal]),
    });
    const begin = lap();
    await play(steps, { ...input, world, clients, recorder });
    const harm = lap();
    say("healing");
    recorder.note("heal");
    await inTime(settle(world, clients, recorder), {
      limitMs: 2 * healLimitMs,
      what: "healing",
      signal: input.signal,
    });
    const heal = lap();
    const judgeAgain = async (): Promise<string[]> =>
      judge(recorder.history, await gatherFacts(world, clients.account));
    const violations = await judgeAgain();
    const result = {
      ...summary(recorder.history),
      seed,
      schedule: describeSchedule(steps),
      steps: steps.length,
      violations,
      tookMs: { begin, harm, heal, judge: lap() },
    };
    return { result, judgeAgain };
  } finally {
    givingUp.abort();
    recorder.flush();
  }
}

/** Gives the time since it was last asked. Milliseconds. */
function stopwatch(): () => number {
  let atMs = performance.now();
  return () => {
    const beforeMs = atMs;
    atMs = performance.now();
    return Math.round(atMs - beforeMs);
  };
}

async function play(
  steps: readonly ScheduledStep[],
  { world, clients, recorder, durationMs, signal, say }: EpisodeInput & Playing,
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
    const acting = act(step, { world, recorder, signal });
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

async function act(
  step: ScheduledStep,
  { world, recorder, signal }: { world: World; recorder: Recorder; signal: AbortSignal },
): Promise<void> {
  await inTime(step.act(world), { limitMs: stepLimitMs, what: step.says, signal });
  recorder.note(`over: ${step.says}`);
}

/** @throws Error when it takes longer, and when the signal is given; whoever catches it ends what it needs. */
async function inTime<T>(
  work: Promise<T>,
  { limitMs, what, signal }: { limitMs: number; what: string; signal: AbortSignal },
): Promise<T> {
  const done = new AbortController();
  // The work goes on behind a signal, and fails when what it needs is ended.
  work.catch(() => undefined);
  const late = delay(limitMs, undefined, { signal: AbortSignal.any([done.signal, signal]) }).then(() => {
    throw new Error(`"${what}" is not over after ${limitMs / 1000} s`);
  });
  try {
    return await Promise.race([work, late]);
  } finally {
    late.catch(() => undefined);
    done.abort();
  }
}

/** Heals the world, and waits until nothing is due. */
async function settle(world: World, clients: Clients, recorder: Recorder): Promise<void> {
  await world.heal();
  await clients.stop();
  const deadlineMs = performance.now() + healLimitMs;
  const settled = new AbortController();
  delay(swallowLimitMs, undefined, { signal: settled.signal }).then(
    () => world.swallowNothing(),
    () => undefined,
  );
  // One connection for all looks: a new one costs as much as the clients of a moment.
  await world.database.primary.session(async (client) => {
    const look = (): Promise<Leftovers> => readLeftovers(client, world.cells);
    await clients.drainMailbox(async () => (await look()).messages === 0 || performance.now() > deadlineMs);
    let left = await look();
    while (Object.values(left).some((count) => count > 0) && performance.now() < deadlineMs) {
      await delay(lookEveryMs);
      left = await look();
    }
    settled.abort();
    recorder.note("settled", { ...left, waitingItems: await describeWaiting(client, world.cells) });
  });
  world.swallowNothing();
  await clients.readMessages(mailboxIds(recorder.history, clients.addresses.mailboxId));
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
}: History): Pick<EpisodeResult, "requests" | "acknowledged" | "unknown" | "deliveries"> {
  const items = calls.filter(({ operation }) => operation.op === "send" || operation.op === "publish");
  return {
    requests: calls.length,
    acknowledged: items.filter(({ outcome }) => outcome === "ok").length,
    unknown: calls.filter(({ outcome }) => outcome === "unknown").length,
    deliveries: receipts.length,
  };
}
