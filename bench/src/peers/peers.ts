import { setTimeout as delay } from "node:timers/promises";
import { type BenchSize, type Figure, median, perSecond } from "../figures.ts";
import { runLoad, summarize } from "../load.ts";
import { startProgram } from "../processes.ts";
import { ask, connections, host, inTemporaryDirectory, received } from "../workload.ts";
import { type Side, startSides } from "./sides.ts";

const rounds = 5;
/** Jobs per second while latency is measured; every side keeps up with this rate. */
const latencyRate = 100;
const deliveredWithinMs = 60_000;
const recordedWithinMs = 10_000;

/**
 * Compares Postrider with queues from npm that do the same work, in alternating turns: a job is accepted over HTTP, is durable
 * before its 202, is posted with a signature, and the attempt is recorded. There is no goal.
 */
export async function peerFigures(size: BenchSize): Promise<Figure[]> {
  const receiver = await startProgram("./receiver.ts");
  const url = `http://${host}:${receiver.port}/measured`;
  const figures = await inTemporaryDirectory(async (dataDir) => {
    const { sides, notes, stop } = await startSides(dataDir, url);
    try {
      const measured = await measure(sides, receiver.port, size.durationMs / 7.5);
      for (const note of notes) process.stderr.write(`${note}\n`);
      return measured.flatMap((one) => figuresOf(one, measured[0]!));
    } finally {
      await stop();
    }
  });
  await receiver.stop();
  return figures;
}

interface Round {
  /** Jobs per second until the last 202. */
  accepted: number;
  /** Jobs per second from the first post to the last delivery. */
  delivered: number;
}

interface Measured {
  side: Side;
  rounds: Round[];
  /** Milliseconds from the post to the delivery. */
  latency: { p50: number; p99: number };
  /** Jobs that were accepted and not received, or received and not recorded. */
  lost: number;
}

async function measure(sides: Side[], receiverPort: number, turnMs: number): Promise<Measured[]> {
  const measured: Measured[] = sides.map((side) => ({
    side,
    rounds: [],
    latency: { p50: 0, p99: 0 },
    lost: 0,
  }));
  for (let round = 0; round <= rounds; round++) {
    for (const one of measured) {
      const result = await playRound(one, receiverPort, turnMs);
      // The first round warms up.
      if (round > 0) one.rounds.push(result);
    }
  }
  for (const one of measured) one.latency = await latencyOf(one, receiverPort);
  return measured;
}

/** Posts jobs in a closed loop for a time, then waits until all are received and recorded. */
async function playRound(measured: Measured, receiverPort: number, turnMs: number): Promise<Round> {
  const { side } = measured;
  const receivedBefore = await received(receiverPort);
  const recordedBefore = await side.countAttempts();
  const load = { host, port: side.port, connections, expect: 202, request: side.request };
  const startedAt = performance.now();
  const { requests: jobs } = await runLoad({ ...load, durationMs: turnMs });
  const acceptedMs = performance.now() - startedAt;
  const countReceived = async (): Promise<number> => (await received(receiverPort)) - receivedBefore;
  const countRecorded = async (): Promise<number> => (await side.countAttempts()) - recordedBefore;
  await within(deliveredWithinMs, async () => (await countReceived()) >= jobs);
  const deliveredMs = performance.now() - startedAt;
  await within(recordedWithinMs, async () => (await countRecorded()) >= jobs);
  measured.lost += jobs - Math.min(jobs, await countReceived(), await countRecorded());
  // Discards the latencies that the receiver kept.
  await ask(receiverPort, "/latency");
  return { accepted: (jobs * 1_000) / acceptedMs, delivered: (jobs * 1_000) / deliveredMs };
}

async function latencyOf({ side }: Measured, receiverPort: number): Promise<Measured["latency"]> {
  const load = { host, port: side.port, connections: 16, expect: 202, request: side.request };
  await runLoad({ ...load, rate: latencyRate, durationMs: 3_000 });
  await delay(2_000);
  const { latencies } = await ask<{ latencies: number[] }>(receiverPort, "/latency");
  return summarize(latencies, 0, 3);
}

async function within(limitMs: number, isSo: () => Promise<boolean>): Promise<void> {
  for (const endAt = performance.now() + limitMs; performance.now() < endAt && !(await isSo());)
    await delay(10);
}

function figuresOf(measured: Measured, own: Measured): Figure[] {
  const of = (one: Measured, rate: keyof Round): number => median(one.rounds.map((round) => round[rate]));
  const { p50, p99 } = measured.latency;
  const { name } = measured.side;
  const ratio = (rate: keyof Round) =>
    measured !== own && {
      ratio: median(own.rounds.map((round, index) => round[rate] / measured.rounds[index]![rate])),
    };
  return [
    { name: `${name}: accepted`, value: perSecond(of(measured, "accepted")), ...ratio("accepted") },
    { name: `${name}: delivered`, value: perSecond(of(measured, "delivered")), ...ratio("delivered") },
    {
      name: `${name}: to the receiver at ${latencyRate}/s`,
      value: `p50 ${p50.toFixed(1)}, p99 ${p99.toFixed(1)} ms`,
    },
    ...(measured.lost > 0
      ? [{ name: `${name}: lost`, value: String(measured.lost), goal: "0", isMet: false }]
      : []),
  ];
}
