import { randomBytes } from "node:crypto";
import { setTimeout as delay } from "node:timers/promises";
import { atMost, type Figure, perSecond, whole } from "../figures.ts";
import type { LoadResult } from "../load.ts";
import { type Part, startPart } from "../part.ts";
import type { ArrivalCounts } from "./arrivals.ts";
import { costFigures, type Measured, watch } from "./cost.ts";
import { type Kill, killAndRestart } from "./kill.ts";
import { hasCompiler } from "./native.ts";
import type { PublishCall } from "./publishCall.ts";
import type { Phase, PublisherOptions } from "./publisher.ts";
import type { ReceiverArgs } from "./receiverPart.ts";
import type { Published } from "./tally.ts";

/** The options of `npm run bench:outside`. */
export interface OutsideOptions {
  call: PublishCall;
  /** The address at which the receiver listens; a destination of the service posts to it. */
  receiver: { host: string; port: number };
  connections: number;
  /** The length of each phase. */
  durationMs: number;
  /** Events per second while latency is measured, and while the service is killed. */
  rate: number;
  /** The length of `{{data}}`. */
  dataBytes: number;
  /** If nothing arrives for this time, missing events count as lost. */
  patienceMs: number;
  /** Number of the receiver's paths on which each event has to arrive. */
  fanOut: number;
  /** Processes whose processor time, memory and writes are measured: ids, or `:PORT`. */
  watch: readonly string[];
  /** Another call, whose destination is `/hang` at the receiver. */
  neighbour?: { call: PublishCall; events: number };
  kill?: Kill;
  /** Whether client and receiver run in Node even where there is a C compiler. */
  isInNode: boolean;
}

interface Stage {
  options: OutsideOptions;
  receiver: Part;
  publisher: Part;
  published: Published[];
}

/**
 * Measures any service that accepts events over HTTP and posts them to a destination: first in a closed loop, then the latency at
 * a fixed rate, then the latency beside a neighbour that hangs. With `kill`, measures only at the fixed rate, while the service
 * is killed. Client and receiver are separate processes. Events are recognized by an id in the payload.
 */
export async function outsideFigures(options: OutsideOptions): Promise<Figure[]> {
  const isNative = !options.isInNode && (await hasCompiler());
  const run = newRun();
  const receiver = await startPart(new URL("./receiverPart.ts", import.meta.url), {
    run,
    isNative,
    ...options.receiver,
  } satisfies ReceiverArgs);
  const publisher = await startPublisher(options, { run, call: options.call, isNative });
  const stage: Stage = { options, receiver, publisher, published: [] };
  try {
    const figures =
      options.kill === undefined
        ? [
            ...(await saturated(stage)),
            ...(await paced(stage, "")),
            ...(await besideNeighbour(stage, isNative)),
          ]
        : await killed(stage, options.kill);
    return [...figures, ...(await totals(stage))];
  } finally {
    await publisher.stop();
    await receiver.stop();
  }
}

function newRun(): string {
  return `bench${randomBytes(4).toString("hex")}`;
}

function startPublisher(
  { connections, dataBytes }: OutsideOptions,
  own: Pick<PublisherOptions, "run" | "call" | "isNative">,
): Promise<Part> {
  return startPart(new URL("./publisherPart.ts", import.meta.url), {
    ...own,
    connections,
    dataBytes,
  } satisfies PublisherOptions);
}

async function publish(stage: Stage, phase: Phase): Promise<Published> {
  const result = await stage.publisher.ask<Published>({ type: "publish", ...phase });
  stage.published.push(result);
  return result;
}

async function saturated(stage: Stage): Promise<Figure[]> {
  const { options } = stage;
  let published!: Published;
  let arrived!: ArrivalCounts;
  const measured = await measure(stage, async () => {
    published = await publish(stage, { durationMs: options.durationMs });
    arrived = await untilArrived(stage);
    return arrived.count;
  });
  const seconds = (arrived.lastAtMs - published.startedAtMs) / 1_000;
  const delivered = arrived.count === 0 ? 0 : arrived.count / seconds;
  return [
    { name: "accepted", value: perSecond(published.accepted / published.seconds) },
    { name: options.fanOut === 1 ? "delivered" : "deliveries", value: perSecond(delivered) },
    ...costFigures("saturated", measured),
  ];
}

/** Measures the latency at the fixed rate; `when` is added to the figure's name. */
async function paced(stage: Stage, when: string): Promise<Figure[]> {
  const { durationMs, rate } = stage.options;
  let latency!: LoadResult;
  const before = await counts(stage);
  await stage.receiver.ask({ type: "latency" });
  const measured = await measure(stage, async () => {
    await publish(stage, { durationMs, rate });
    const { count } = await untilArrived(stage);
    latency = await stage.receiver.ask<LoadResult>({ type: "latency" });
    return count - before.count;
  });
  const name = `from the call to the receiver at ${rate}/s${when}`;
  return [
    { name, value: `p50 ${latency.p50.toFixed(1)}, p99 ${latency.p99.toFixed(1)} ms` },
    ...costFigures(`at ${rate}/s${when}`, measured),
  ];
}

/** Measures the latency again, while events of a neighbour are stuck at a destination that never answers. */
async function besideNeighbour(stage: Stage, isNative: boolean): Promise<Figure[]> {
  const { neighbour } = stage.options;
  if (neighbour === undefined) return [];
  const other = await startPublisher(stage.options, { run: newRun(), call: neighbour.call, isNative });
  try {
    const durationMs = stage.options.durationMs;
    const phase = { durationMs, events: neighbour.events };
    const { accepted } = await other.ask<Published>({ type: "publish", ...phase });
    const figures = await paced(stage, " beside a neighbour that hangs");
    const { hanging } = await counts(stage);
    return [
      ...figures,
      { name: "events of the neighbour accepted", value: whole(accepted) },
      { name: "its requests that hang", value: whole(hanging) },
    ];
  } finally {
    await other.stop();
  }
}

async function killed(stage: Stage, kill: Kill): Promise<Figure[]> {
  const { durationMs, rate } = stage.options;
  const [published, { pid }] = await Promise.all([
    publish(stage, { durationMs, rate }),
    killAndRestart(kill),
  ]);
  await untilArrived(stage);
  const seconds = (published.longestGapMs / 1_000).toFixed(2);
  return [
    { name: "accepted", value: whole(published.accepted) },
    { name: "longest time without an accepted call", value: `${seconds} s` },
    { name: "process of the restart command", value: String(pid) },
  ];
}

async function totals(stage: Stage): Promise<Figure[]> {
  const { repeated } = await counts(stage);
  const sum = (of: (one: Published) => number): string =>
    whole(stage.published.reduce((total, one) => total + of(one), 0));
  const accepted = stage.published.reduce((total, one) => total + one.accepted, 0);
  const lost = atMost("accepted and not delivered", await missing(stage), 0, "");
  return [
    { name: "calls that were refused", value: sum((one) => one.refused) },
    { name: "calls without an answer", value: sum((one) => one.unanswered) },
    { name: "delivered more than once", value: whole(repeated) },
    { ...lost, value: whole(Number(lost.value)), isMet: lost.isMet === true && accepted > 0 },
  ];
}

function measure({ options, receiver, publisher }: Stage, work: () => Promise<number>): Promise<Measured> {
  return watch(options.watch, [receiver.pid, publisher.pid], work);
}

function counts({ receiver }: Stage): Promise<ArrivalCounts & { hanging: number }> {
  return receiver.ask({ type: "counts" });
}

function missing({ receiver, published, options }: Stage): Promise<number> {
  const accepted = published.at(-1)?.acceptedEvents ?? new Uint8Array();
  return receiver.ask({ type: "missing", accepted, paths: options.fanOut });
}

/** Waits until all accepted events have arrived, or none has arrived for `patienceMs`. */
async function untilArrived(stage: Stage): Promise<ArrivalCounts> {
  let last = await counts(stage);
  let changedAt = performance.now();
  while ((await missing(stage)) > 0 && performance.now() - changedAt < stage.options.patienceMs) {
    await delay(50);
    const now = await counts(stage);
    if (now.count !== last.count) changedAt = performance.now();
    last = now;
  }
  return counts(stage);
}
