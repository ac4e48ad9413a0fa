import { type BenchService, startService } from "./benchService.ts";
import { type ConsumerResult, runConsumers } from "./consumers.ts";
import {
  atLeast,
  atMost,
  type BenchSize,
  type Figure,
  median,
  perSecond,
  rounds,
  type Slice,
  sliceOf,
} from "./figures.ts";
import { runTraffic, trafficFigures } from "./outside/mailboxTraffic.ts";
import { startProgram } from "./processes.ts";
import { fill, inTemporaryDirectory } from "./workload.ts";

const consumers = 64;
/** Producers and consumers of one mailbox at the same time. */
const crowds = [
  { producers: 32, consumers: 32 },
  { producers: 1, consumers: 32 },
  { producers: 32, consumers: 1 },
];
const batch = 50;
/** The first round, which is a warm-up. */
const firstSlice: Slice = { durationMs: 1_500, warmupMs: 0 };
/** Expected messages per millisecond in the first round, when consumers claim one by one. */
const firstPerMs = 10;

/** A mailbox of a service, or the bare server in its place. */
interface Place {
  port: number;
  key: string;
  mailboxId: string;
}

/**
 * Claims and acknowledgements over HTTP, one by one and in batches, as ratios to the same client on a server
 * without storage in the same run. The figures are medians of the rounds. Then messages are put and claimed at the same
 * time, in a new mailbox for each number of producers and consumers.
 */
export async function mailboxFigures(size: BenchSize): Promise<Figure[]> {
  const bare = await startProgram("./bareMailbox.ts");
  const nowhere = { port: bare.port, key: `ak_live_${"a".repeat(64)}`, mailboxId: "0".repeat(32) };
  const all = await inTemporaryDirectory(async (dataDir) => {
    const service = await startService({ dataDir, roles: "api,maintenance" });
    const mailboxId = await service.createTarget({ kind: "mailbox", name: "bench" });
    const place = { port: service.port, key: service.key, mailboxId };
    const stock = createStock(service, place);
    const measured: Round[] = [];
    for (let round = 0; round <= rounds; round++) {
      const slice = round === 0 ? firstSlice : sliceOf(size);
      const result = {
        bare: await consume(nowhere, slice, 1),
        single: await stock.consume(slice, 1),
        batched: await stock.consume(slice, batch),
      };
      if (round > 0) measured.push(result);
    }
    const both = await putAndConsume(service, size);
    await service.stop();
    return [...figures(measured), ...both];
  });
  await bare.stop();
  return all;
}

/**
 * Before each run of consumers, puts in as many messages as they may claim, estimated by the rate of the run before. A fixed
 * number that is enough for every machine would take minutes on a slow one.
 */
function createStock(service: BenchService, place: Place) {
  const perMs = new Map([
    [1, firstPerMs],
    [batch, 4 * firstPerMs],
  ]);
  return {
    async consume(slice: Slice, perClaim: number): Promise<ConsumerResult> {
      const expected = perMs.get(perClaim)!;
      await fill(service, place.mailboxId, Math.ceil((slice.warmupMs + slice.durationMs) * expected * 1.5));
      const result = await consume(place, slice, perClaim);
      // A run that found the mailbox empty says little about the rate.
      perMs.set(perClaim, Math.max(result.completedPerSecond / 1_000, expected / 2, 1));
      return result;
    },
  };
}

async function putAndConsume(service: BenchService, { durationMs }: BenchSize): Promise<Figure[]> {
  const found: Figure[] = [];
  for (const crowd of crowds) {
    const mailboxId = await service.createTarget({ kind: "mailbox", name: "both" });
    const traffic = await runTraffic({
      ...crowd,
      baseUrl: `http://127.0.0.1:${service.port}`,
      mailboxId,
      headers: [`authorization: Bearer ${service.key}`],
      durationMs: durationMs / crowds.length,
      dataBytes: 400,
      patienceMs: 10_000,
      isInNode: false,
    });
    const { producers, consumers: claiming } = crowd;
    found.push(...trafficFigures(`mailbox, ${producers} producing and ${claiming} consuming`, traffic));
  }
  return found;
}

interface Round {
  bare: ConsumerResult;
  single: ConsumerResult;
  batched: ConsumerResult;
}

function consume(place: Place, slice: Slice, perClaim: number): Promise<ConsumerResult> {
  return runConsumers({ ...place, consumers, batch: perClaim, ...slice });
}

function figures(results: Round[]): Figure[] {
  const over = (value: (round: Round) => number): number => median(results.map(value));
  const cycles = over(({ single, bare }) => single.completedPerSecond / bare.completedPerSecond);
  const perRequest = over(({ batched, bare }) => batched.completedPerSecond / (2 * bare.completedPerSecond));
  return [
    { name: "bare claim and ack cycles", value: perSecond(over(({ bare }) => bare.completedPerSecond)) },
    atLeast(
      "claim 1 + ack 1, 64 consumers",
      cycles,
      0.3,
      `${perSecond(over(({ single }) => single.completedPerSecond))} cycles, p50 ${over(({ single }) => single.requests.p50).toFixed(1)} ms`,
    ),
    atMost(
      "p99 of single claims and acknowledgements",
      over(({ single }) => single.requests.p99),
      20,
    ),
    { name: "p99 of the bare requests", value: `${over(({ bare }) => bare.requests.p99).toFixed(1)} ms` },
    atLeast(
      "claim 50 + ack 50, messages per bare request",
      perRequest,
      0.7,
      `${perSecond(over(({ batched }) => batched.completedPerSecond))} messages, p99 ${over(({ batched }) => batched.requests.p99).toFixed(1)} ms`,
    ),
  ];
}
