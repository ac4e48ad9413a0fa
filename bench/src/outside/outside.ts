import { randomBytes } from "node:crypto";
import { setTimeout as delay } from "node:timers/promises";
import { isSuccess } from "../exchange.ts";
import { type Figure, perSecond, whole } from "../figures.ts";
import { summarize } from "../load.ts";
import { type Arrivals, eventId, receiveEvents } from "./arrivals.ts";
import { bodyOf, openPublisher, type PublishCall } from "./publishCall.ts";

/** The options of `npm run bench:outside`. */
export interface OutsideOptions {
  call: PublishCall;
  /** The receiver's address, to which a destination of the service leads. */
  receiver: { host: string; port: number };
  connections: number;
  /** The length of each of the two phases. */
  durationMs: number;
  /** Events per second while latency is measured. */
  rate: number;
  /** The length of `{{data}}`. */
  dataBytes: number;
  /** If nothing arrives for this time, missing events count as lost. */
  patienceMs: number;
}

interface Published {
  accepted: number;
  refused: number;
  seconds: number;
}

/**
 * Measures any service that accepts events over HTTP and posts them on: first in a closed loop, then at a fixed rate for the
 * latency. Events are recognized by an id in the payload.
 */
export async function outsideFigures(options: OutsideOptions): Promise<Figure[]> {
  const run = `bench${randomBytes(4).toString("hex")}`;
  const arrivals = await receiveEvents(run, options.receiver.host, options.receiver.port);
  const publisher = openPublisher(options.call);
  let number = 0;
  const publish = (): Promise<number> =>
    publisher.publish(bodyOf(options.call.body, eventId(run, number++), options.dataBytes));
  try {
    const startedAt = performance.now();
    const saturated = await publishAll(publish, { ...options, rate: undefined });
    await untilArrived(arrivals, saturated.accepted, options.patienceMs);
    const deliveredSeconds = (performance.now() - startedAt) / 1_000;
    const before = arrivals.latencies().length;
    const paced = await publishAll(publish, options);
    const accepted = saturated.accepted + paced.accepted;
    await untilArrived(arrivals, accepted, options.patienceMs);
    const latency = summarize(arrivals.latencies().slice(before), 0, paced.seconds);
    const refused = saturated.refused + paced.refused;
    return [
      { name: "accepted", value: perSecond(saturated.accepted / saturated.seconds) },
      { name: "delivered", value: perSecond(Math.min(saturated.accepted, before) / deliveredSeconds) },
      {
        name: `from the call to the receiver at ${options.rate}/s`,
        value: `p50 ${latency.p50.toFixed(1)}, p99 ${latency.p99.toFixed(1)} ms`,
      },
      { name: "calls that were not accepted", value: whole(refused) },
      { name: "delivered more than once", value: whole(arrivals.repeated()) },
      {
        name: "accepted and not delivered",
        value: whole(Math.max(0, accepted - arrivals.count())),
        goal: "0",
        isMet: accepted > 0 && arrivals.count() >= accepted,
      },
    ];
  } finally {
    publisher.close();
    arrivals.stop();
  }
}

/** Calls over all connections for the duration, in a closed loop on each; with a rate, each call at its due time. */
async function publishAll(
  publish: () => Promise<number>,
  { connections, durationMs, rate }: { connections: number; durationMs: number; rate: number | undefined },
): Promise<Published> {
  const startedAt = performance.now();
  const published = { accepted: 0, refused: 0 };
  let next = 0;
  await Promise.all(
    Array.from({ length: connections }, async () => {
      for (;;) {
        const dueMs = rate === undefined ? 0 : (next++ * 1_000) / rate;
        const waitMs = startedAt + dueMs - performance.now();
        if (Math.max(performance.now() - startedAt, dueMs) >= durationMs) return;
        if (waitMs > 0) await delay(waitMs);
        const status = await publish();
        if (isSuccess(status)) published.accepted++;
        else published.refused++;
      }
    }),
  );
  return { ...published, seconds: (performance.now() - startedAt) / 1_000 };
}

/** Waits until `count` events have arrived, or none arrives for `patienceMs`. */
async function untilArrived(arrivals: Arrivals, count: number, patienceMs: number): Promise<void> {
  let last = arrivals.count();
  let changedAt = performance.now();
  while (arrivals.count() < count && performance.now() - changedAt < patienceMs) {
    await delay(5);
    if (arrivals.count() === last) continue;
    last = arrivals.count();
    changedAt = performance.now();
  }
}
