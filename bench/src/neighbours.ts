import { type BenchService, createWebhooks, startService } from "./benchService.ts";
import { atLeast, type BenchSize, type Figure, perSecond } from "./figures.ts";
import { type LoadResult, monotonicMs, postBytes, runLoad, summarize } from "./load.ts";
import { type Program, startProgram } from "./processes.ts";
import { ask, closedLoop, connections, fixedItem, host, inTemporaryDirectory, received } from "./workload.ts";

export const hangingTargets = 2_000;
/** Items that wait for each hanging target at the start. */
const backlog = 5;
/** Items per second to all hanging targets together. */
const hangingRate = 50;
/** Items per second to each healthy target while latency is measured. */
const measuredRate = 200;

/**
 * Measures how 2,000 targets that never answer affect a healthy target of the same organization, and a healthy one of another
 * organization: both are measured before, beside and after them.
 */
export async function neighboursFigures(size: BenchSize): Promise<Figure[]> {
  return (await measureNeighbours(size)).flatMap(({ name, alone, beside }) => compare(name, alone, beside));
}

/** Latency and throughput of a healthy target. */
export interface Measured {
  latency: LoadResult;
  deliveredPerSecond: number;
}

/** A healthy target without the hanging ones and beside them. */
export interface NeighbourMeasured {
  name: string;
  /** Before the hanging targets, and after them. */
  alone: readonly Measured[];
  beside: Measured;
}

/** The measurements of `neighboursFigures`. */
export async function measureNeighbours(
  size: Pick<BenchSize, "durationMs" | "warmupMs">,
): Promise<NeighbourMeasured[]> {
  const receivers = [await startProgram("./receiver.ts"), await startProgram("./receiver.ts")] as const;
  const hanging = await startProgram("./receiver.ts");
  const measured = await inTemporaryDirectory(async (dataDir) => {
    const service = await startService({ dataDir });
    const neighbours = [
      await settle(service, "the same organization", service.key, receivers[0]),
      await settle(service, "another organization", await service.signUp(), receivers[1]),
    ];
    await measure(service, neighbours, size.warmupMs);
    const before = await measure(service, neighbours, size.durationMs);
    const ids = await createHanging(service, `http://${host}:${hanging.port}/hang`);
    await measure(service, neighbours, size.warmupMs, ids);
    const beside = await measure(service, neighbours, size.durationMs, ids);
    await service.sql("update targets set enabled = false, version = version + 1 where url like '%/hang'");
    // Requests in flight end with their timeout.
    await new Promise((resolve) => setTimeout(resolve, 16_000));
    const after = await measure(service, neighbours, size.durationMs);
    await service.stop();
    return neighbours.map(({ name }, index) => ({
      name,
      alone: [before[index]!, after[index]!],
      beside: beside[index]!,
    }));
  });
  for (const program of [...receivers, hanging]) await program.stop();
  return measured;
}

/** A healthy target with a receiver of its own. */
interface Neighbour {
  name: string;
  key: string;
  target: string;
  receiver: Program;
}

async function settle(
  service: BenchService,
  name: string,
  key: string,
  receiver: Program,
): Promise<Neighbour> {
  const url = `http://${host}:${receiver.port}/measured`;
  const target = await service.createTarget({ kind: "webhook", name: "healthy", url }, key);
  return { name, key, target, receiver };
}

async function createHanging(service: BenchService, url: string): Promise<string[]> {
  const ids = await createWebhooks(service, hangingTargets, { name: "hanging", url });
  const requests = ids.map((id) => fixedItem(service, id)());
  await closedRequests(service.port, hangingTargets * backlog, (n) => requests[n % requests.length]!);
  return ids;
}

function closedRequests(port: number, requests: number, request: (n: number) => Buffer): Promise<LoadResult> {
  return runLoad({ host, port, connections, durationMs: 600_000, requests, expect: 202, request });
}

/** Measures first the latency at a fixed rate, then the throughput in a closed loop, of all healthy targets at the same time. */
async function measure(
  service: BenchService,
  neighbours: readonly Neighbour[],
  durationMs: number,
  hangingIds: readonly string[] = [],
): Promise<Measured[]> {
  const stopHanging = feed(service, hangingIds, durationMs * 2 + 5_000);
  const { port } = service;
  const latencies = await Promise.all(
    neighbours.map(async ({ key, target, receiver }) => {
      await ask(receiver.port, "/latency");
      const request = (): Buffer => timedItem(key, target);
      const load = { host, port, connections: 16, rate: measuredRate, expect: 202, request };
      await runLoad({ ...load, durationMs });
      await new Promise((resolve) => setTimeout(resolve, 500));
      const { latencies: found } = await ask<{ latencies: number[] }>(receiver.port, "/latency");
      return summarize(found, 0, durationMs / 1000);
    }),
  );
  const rates = await Promise.all(
    neighbours.map(async ({ key, target, receiver }) => {
      const before = await received(receiver.port);
      const startedAt = performance.now();
      const request = (): Buffer => timedItem(key, target);
      await closedLoop(port, { durationMs, warmupMs: 0 }, request);
      const delivered = (await received(receiver.port)) - before;
      return (delivered * 1000) / (performance.now() - startedAt);
    }),
  );
  await stopHanging;
  await untilQuiet(neighbours);
  return neighbours.map((_, index) => ({ latency: latencies[index]!, deliveredPerSecond: rates[index]! }));
}

/** Posts further items to the hanging targets. */
async function feed(service: BenchService, ids: readonly string[], durationMs: number): Promise<void> {
  if (ids.length === 0) return;
  const request = (n: number): Buffer => fixedItem(service, ids[n % ids.length]!)();
  const load = { host, port: service.port, connections: 4, rate: hangingRate, expect: 202, request };
  await runLoad({ ...load, durationMs });
}

function timedItem(key: string, target: string): Buffer {
  const body = JSON.stringify({ sent_at: monotonicMs(), data: "x".repeat(440) });
  return postBytes(`/t/${target}`, [`authorization: Bearer ${key}`], body);
}

async function untilQuiet(neighbours: readonly Neighbour[]): Promise<void> {
  const count = async (): Promise<number> => {
    const counts = await Promise.all(neighbours.map(({ receiver }) => received(receiver.port)));
    return counts.reduce((sum, one) => sum + one, 0);
  };
  for (let before = -1, now = await count(); now !== before;) {
    await new Promise((resolve) => setTimeout(resolve, 1_000));
    before = now;
    now = await count();
  }
}

function compare(name: string, undisturbed: readonly Measured[], disturbed: Measured): Figure[] {
  const mean = (value: (one: Measured) => number): number =>
    undisturbed.reduce((sum, one) => sum + value(one), 0) / undisturbed.length;
  const [p50, p99] = [mean(({ latency }) => latency.p50), mean(({ latency }) => latency.p99)];
  const rate = mean((one) => one.deliveredPerSecond);
  const ms = (value: number): string => `${value.toFixed(1)} ms`;
  const { latency } = disturbed;
  const ratio = latency.p99 / p99;
  return [
    { name: `healthy target ${name}, alone: p50, p99`, value: `${ms(p50)}, ${ms(p99)}` },
    {
      name: `beside ${hangingTargets} hanging ones: p50, p99`,
      value: `${ms(latency.p50)}, ${ms(latency.p99)}`,
      ratio,
      goal: "≤ 2",
      isMet: ratio <= 2,
    },
    { name: `healthy target ${name}, alone: delivered`, value: perSecond(rate) },
    atLeast(
      `beside ${hangingTargets} hanging ones: delivered`,
      disturbed.deliveredPerSecond / rate,
      0.8,
      perSecond(disturbed.deliveredPerSecond),
    ),
  ];
}
