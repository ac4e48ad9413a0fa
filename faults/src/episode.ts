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
import { createInTurn } from "./world/inTurn.ts";
import type { World } from "./world/world.ts";

export interface EpisodeInput {
  seed: number;
  /** Duration of the faults, milliseconds. */
  durationMs: number;
  /** Average interval between two steps, milliseconds. */
  meanGapMs: number;
  /** Longest duration of one step's fault, milliseconds. */
  harmMs: number;
  only: readonly Group[];
  isOnCitus: boolean;
  /** Total number, divided among the organizations; each cell has one organization. */
  senders: number;
  consumers: number;
  /** Folder for the history. */
  outputFolder: string;
  /** Aborts the episode. */
  signal: AbortSignal;
  say: (line: string) => void;
}

export interface EpisodeResult {
  seed: number;
  schedule: string;
  /** Violations, one sentence each. */
  violations: readonly string[];
  steps: number;
  requests: number;
  acknowledged: number;
  unknown: number;
  deliveries: number;
  tookMs: Phases;
  recoveries: readonly Recovery[];
  /** Outcomes of steps that can end in different ways. */
  outcomes: readonly string[];
}

/** Time from a step's end until items were accepted again, for the organization that waited longest. */
export interface Recovery {
  kind: string;
  ms: number;
}

/** Duration of each phase, milliseconds. */
export interface Phases {
  begin: number;
  harm: number;
  heal: number;
  judge: number;
}

export interface Episode {
  result: EpisodeResult;
  /** Compares the history with the data that is stored now, after later episodes. */
  judgeAgain: () => Promise<string[]>;
}

/**
 * Longest time until nothing is due after everything serves again. It is long because the speed of healing is not
 * checked.
 */
const healLimitMs = 1_200_000;
const stepLimitMs = 1_200_000;
/**
 * Duration for which answers are still swallowed after healing began. Each swallowed answer costs an attempt, and
 * the retry delays grow threefold: ten answers of a rarely used agent would delay one item for most of an hour.
 */
const swallowLimitMs = 30_000;
/** Interval between two reads of the leftovers, milliseconds. */
const lookEveryMs = 200;

/** Returns the schedule of faults for the seed. */
export function stepsOf(input: Omit<EpisodeInput, "outputFolder" | "signal" | "say">): ScheduledStep[] {
  return createSchedule({ ...input, limits: { harmMs: input.harmMs } });
}

/** An organization, its clients and the recorder of their observations. */
interface Party {
  clients: Clients;
  recorder: Recorder;
}

/**
 * Plays one episode: in a world without faults, an organization of each cell creates targets and clients; the
 * world is harmed as the seed's schedule says, and heals. Then the observations are compared with the stored data
 * of each organization, and the leftovers with none.
 */
export async function playEpisode(world: World, input: EpisodeInput): Promise<Episode> {
  const { seed, outputFolder, say } = input;
  const lap = stopwatch();
  mkdirSync(outputFolder, { recursive: true });
  const steps = stepsOf(input);
  const recorders = Array.from({ length: world.cells }, (_, cell) => {
    const name = cell === 0 ? "history.jsonl" : `history-of-cell-${cell}.jsonl`;
    return new Recorder(join(outputFolder, name));
  });
  const givingUp = new AbortController();
  const givenUp = AbortSignal.any([givingUp.signal, input.signal]);
  try {
    const parties = await startParties(world, { ...input, recorders, givenUp, steps });
    const begin = lap();
    const ends = await play(steps, { ...input, world, parties });
    const harm = lap();
    say("healing");
    for (const { recorder } of parties) recorder.note("heal");
    await inTime(settle(world, parties), {
      limitMs: 2 * healLimitMs,
      what: "healing",
      signal: input.signal,
    });
    const heal = lap();
    const judgeAgain = async (): Promise<string[]> => {
      const violations: string[] = [];
      for (const { recorder, clients } of parties)
        violations.push(...judge(recorder.history, await gatherFacts(world, clients)));
      return [...new Set(violations)];
    };
    const violations = await judgeAgain();
    const result = {
      ...summary(parties.map(({ recorder }) => recorder.history)),
      seed,
      schedule: describeSchedule(steps),
      steps: steps.length,
      violations,
      recoveries: recoveriesOf(ends, parties),
      outcomes: ends.flatMap(({ outcome }) => outcome ?? []),
      tookMs: { begin, harm, heal, judge: lap() },
    };
    return { result, judgeAgain };
  } finally {
    givingUp.abort();
    for (const recorder of recorders) recorder.flush();
  }
}

async function startParties(
  world: World,
  { recorders, steps, ...input }: EpisodeInput & Starting,
): Promise<Party[]> {
  const urls = await world.begin(input.seed, recorders);
  const hasVersionBefore = steps.some(({ group }) => group === "upgrade");
  const share = (count: number): number => Math.max(1, Math.round(count / recorders.length));
  const start = async (recorder: Recorder, cell: number): Promise<Party> => {
    const clients = await startClients({
      ...input,
      seed: input.seed + cell * 1_000_000,
      world,
      cell,
      recorder,
      receiversUrl: urls[cell]!,
      senders: share(input.senders),
      consumers: share(input.consumers),
      hasVersionBefore,
    });
    return { clients, recorder };
  };
  return Promise.all(recorders.map(start));
}

interface Starting {
  recorders: readonly Recorder[];
  steps: readonly ScheduledStep[];
  givenUp: AbortSignal;
}

/** Returns a function that gives the milliseconds since its last call. */
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
  { world, parties, durationMs, signal, say }: EpisodeInput & { world: World; parties: readonly Party[] },
): Promise<StepEnd[]> {
  const begunAtMs = performance.now();
  const inFlight: Promise<StepEnd>[] = [];
  // In the middle of the episode: there are items to replay by then, and later faults can still hit the replay.
  const replaying = delay(durationMs / 2, undefined, { signal }).then(() =>
    Promise.all(parties.map(({ clients }) => clients.replay())),
  );
  replaying.catch(() => undefined);
  for (const step of steps) {
    await delay(Math.max(0, begunAtMs + step.atMs - performance.now()), undefined, { signal });
    say(step.says);
    for (const { recorder } of parties) recorder.note(step.says);
    const acting = act(step, { world, parties, signal });
    // Awaited together with all other work at the end.
    acting.catch(() => undefined);
    inFlight.push(acting);
  }
  await delay(Math.max(0, begunAtMs + durationMs - performance.now()), undefined, { signal });
  await replaying;
  return Promise.all(inFlight);
}

interface StepEnd {
  kind: string;
  outcome: string | undefined;
  /** End of the step, by the clock of each organization's recorder. */
  atMs: readonly number[];
}

async function act(
  step: ScheduledStep,
  { world, parties, signal }: { world: World; parties: readonly Party[]; signal: AbortSignal },
): Promise<StepEnd> {
  const outcome =
    (await inTime(step.act(world), { limitMs: stepLimitMs, what: step.says, signal })) ?? undefined;
  for (const { recorder } of parties) recorder.note(`over: ${step.says}`, { outcome });
  return {
    kind: step.kind ?? step.group,
    outcome,
    atMs: parties.map(({ recorder }) => recorder.nowMs()),
  };
}

/** A step that ended after the clients had stopped has no recovery. */
function recoveriesOf(ends: readonly StepEnd[], parties: readonly Party[]): Recovery[] {
  return ends.flatMap(({ kind, atMs }) => {
    const waits = parties.map(({ recorder: { history } }, n) => {
      const first = history.calls.find(
        ({ operation, outcome, startedAtMs }) =>
          outcome === "ok" &&
          (operation.op === "send" || operation.op === "publish") &&
          startedAtMs >= atMs[n]!,
      );
      return first === undefined ? undefined : first.endedAtMs - atMs[n]!;
    });
    const known = waits.filter((ms) => ms !== undefined);
    return known.length < parties.length ? [] : [{ kind, ms: Math.round(Math.max(...known)) }];
  });
}

/**
 * @throws {Error} when the work takes longer than the limit or the signal is aborted; the caller must then end
 * what the work uses.
 */
async function inTime<T>(
  work: Promise<T>,
  { limitMs, what, signal }: { limitMs: number; what: string; signal: AbortSignal },
): Promise<T> {
  const done = new AbortController();
  // After an abort the work continues, and fails once its resources are closed.
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
async function settle(world: World, parties: readonly Party[]): Promise<void> {
  await world.heal();
  await Promise.all(parties.map(({ clients }) => clients.stop()));
  const deadlineMs = performance.now() + healLimitMs;
  const settled = new AbortController();
  delay(swallowLimitMs, undefined, { signal: settled.signal }).then(
    () => world.swallowNothing(),
    () => undefined,
  );
  // One connection for all reads: opening a new one each time would cost as much CPU as the clients need.
  await world.database.primary.session(async (client) => {
    const inTurn = createInTurn();
    const look = (): Promise<Leftovers> => inTurn(() => readLeftovers(client, world));
    const isDrained = async (): Promise<boolean> =>
      (await look()).messages === 0 || performance.now() > deadlineMs;
    await Promise.all(parties.map(({ clients }) => clients.drainMailbox(isDrained)));
    let left = await look();
    while (Object.values(left).some((count) => count > 0) && performance.now() < deadlineMs) {
      await delay(lookEveryMs);
      left = await look();
    }
    settled.abort();
    const waitingItems = await describeWaiting(client, world.cells);
    for (const { recorder } of parties) recorder.note("settled", { ...left, waitingItems });
  });
  world.swallowNothing();
  for (const { clients, recorder } of parties)
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

function summary(
  histories: readonly History[],
): Pick<EpisodeResult, "requests" | "acknowledged" | "unknown" | "deliveries"> {
  const calls = histories.flatMap((history) => history.calls);
  const items = calls.filter(({ operation }) => operation.op === "send" || operation.op === "publish");
  return {
    requests: calls.length,
    acknowledged: items.filter(({ outcome }) => outcome === "ok").length,
    unknown: calls.filter(({ outcome }) => outcome === "unknown").length,
    deliveries: histories.reduce((sum, { receipts }) => sum + receipts.length, 0),
  };
}
