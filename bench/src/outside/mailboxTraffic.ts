import { randomBytes } from "node:crypto";
import { type Figure, perSecond, whole } from "../figures.ts";
import { startPart } from "../part.ts";
import { countUntil } from "../tenths.ts";
import type { Consumed, ConsumersOptions } from "./consumers.ts";
import { costFigures, type Measured, watch } from "./cost.ts";
import { hasCompiler } from "./native.ts";
import type { PublisherOptions } from "./publisher.ts";
import type { Published } from "./tally.ts";

/** Producers and consumers of one mailbox at the same time, one message per claim and acknowledgement. */
export interface TrafficOptions {
  baseUrl: string;
  mailboxId: string;
  /** Each is `name: value`. */
  headers: readonly string[];
  producers: number;
  consumers: number;
  durationMs: number;
  dataBytes: number;
  /** At the end, missing messages count as lost when no message was acknowledged for this time. */
  patienceMs: number;
  isInNode: boolean;
}

export interface Traffic {
  putsPerSecond: number;
  /** Messages claimed and acknowledged. */
  throughPerSecond: number;
  /** Milliseconds from the put to the answer of the acknowledgement. */
  p50: number;
  p99: number;
  /** Messages put and not acknowledged, at each quarter of the time. */
  backlog: number[];
  /** Messages that were put and never acknowledged. */
  missing: number;
  /** Messages that were acknowledged twice. */
  doubled: number;
  /** Calls that failed. */
  failed: number;
  cost: Measured;
}

/** Runs the traffic and reads the resource use of the `watched` processes. */
export async function runTraffic(options: TrafficOptions, watched: readonly string[] = []): Promise<Traffic> {
  const { baseUrl, mailboxId, headers, durationMs, patienceMs } = options;
  const run = `bench${randomBytes(4).toString("hex")}`;
  const consumer = await startPart(new URL("./consumersPart.ts", import.meta.url), {
    run,
    baseUrl,
    mailboxId,
    headers,
    consumers: options.consumers,
  } satisfies ConsumersOptions);
  const url = new URL(`/t/${mailboxId}`, baseUrl).href;
  const body = '{"id":"{{id}}","data":"{{data}}"}';
  const producer = await startPart(new URL("./publisherPart.ts", import.meta.url), {
    run,
    call: { url, method: "POST", headers, body },
    connections: options.producers,
    dataBytes: options.dataBytes,
    isNative: !options.isInNode && (await hasCompiler()),
  } satisfies PublisherOptions);
  try {
    let put!: Published;
    let consumed!: Consumed;
    const cost = await watch(watched, [consumer.pid, producer.pid], async () => {
      put = await producer.ask<Published>({ type: "publish", durationMs });
      const endedAtMs = put.startedAtMs + durationMs;
      const phase = { startedAtMs: put.startedAtMs, endedAtMs, accepted: put.acceptedEvents, patienceMs };
      consumed = await consumer.ask<Consumed>({ type: "finish", ...phase });
      return consumed.acknowledged;
    });
    return trafficOf(put, consumed, durationMs, cost);
  } finally {
    await producer.stop();
    await consumer.stop();
  }
}

function trafficOf(put: Published, consumed: Consumed, durationMs: number, cost: Measured): Traffic {
  const through = (ms: number): number => countUntil(consumed.acknowledgedByTenth, ms);
  return {
    putsPerSecond: (put.accepted * 1_000) / durationMs,
    throughPerSecond: (through(durationMs) * 1_000) / durationMs,
    p50: consumed.p50,
    p99: consumed.p99,
    backlog: [1, 2, 3, 4].map((quarter) => {
      const ms = (durationMs * quarter) / 4;
      return Math.max(0, countUntil(put.acceptedByTenth, ms) - through(ms));
    }),
    missing: consumed.missing,
    doubled: consumed.doubled,
    failed: consumed.failed + put.refused + put.unanswered,
    cost,
  };
}

/** The figures of `npm run bench:outside` with a mailbox. */
export async function mailboxTrafficFigures(
  options: TrafficOptions,
  watched: readonly string[],
): Promise<Figure[]> {
  const traffic = await runTraffic(options, watched);
  const { producers, consumers } = options;
  return [
    ...trafficFigures(`${producers} producing and ${consumers} consuming`, traffic),
    ...costFigures("until the mailbox is empty", traffic.cost, "message"),
  ];
}

/** The figures of the traffic; `name` tells the numbers of producers and consumers. */
export function trafficFigures(name: string, traffic: Traffic): Figure[] {
  const { putsPerSecond, throughPerSecond, p50, p99, backlog, missing, doubled, failed } = traffic;
  return [
    {
      name,
      value: `${perSecond(putsPerSecond)} put, ${perSecond(throughPerSecond)} claimed and acknowledged`,
    },
    {
      name: "from the put to the acknowledgement",
      value: `p50 ${p50.toFixed(1)}, p99 ${p99.toFixed(1)} ms`,
    },
    { name: "backlog at each quarter of the time", value: backlog.map(whole).join(", ") },
    {
      name: "lost, doubled, failed calls",
      value: [missing, doubled, failed].map(whole).join(", "),
      goal: "0, 0, 0",
      isMet: missing + doubled + failed === 0 && throughPerSecond > 0,
    },
  ];
}
