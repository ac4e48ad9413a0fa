import { createServer } from "node:http";
import { buffer } from "node:stream/consumers";
import { monotonicMs } from "../load.ts";

/** The deliveries that the receiver got so far. */
export interface Arrivals {
  /** Events of this run, each counted once. */
  count(): number;
  /** Deliveries of events that had arrived before. */
  repeated(): number;
  /** Milliseconds from the publish call to the receiver, one per event. */
  latencies(): number[];
  stop(): void;
}

/**
 * A receiver on `host` and `port` that answers 200 at once. It finds the id that {@link eventId} made anywhere in the
 * delivered body.
 */
export async function receiveEvents(run: string, host: string, port: number): Promise<Arrivals> {
  const pattern = new RegExp(`${run}-(\\d+)-(\\d+)`);
  const seen = new Set<string>();
  const latencies: number[] = [];
  let repeated = 0;
  const server = createServer((request, response) => {
    void buffer(request).then((body) => {
      response.writeHead(200, { "content-length": 0 }).end();
      const [, number, sentAtUs] = pattern.exec(body.toString()) ?? [];
      if (number === undefined) return;
      if (seen.has(number)) {
        repeated++;
        return;
      }
      seen.add(number);
      latencies.push(monotonicMs() - Number(sentAtUs) / 1_000);
    });
  });
  await new Promise<void>((resolve, reject) => {
    server.once("error", reject).listen(port, host, resolve);
  });
  return {
    count: () => seen.size,
    repeated: () => repeated,
    latencies: () => latencies,
    stop() {
      server.close();
      server.closeAllConnections();
    },
  };
}

/** An id with the run, the event's number and the time of sending, in microseconds of this machine's monotonic clock. */
export function eventId(run: string, number: number): string {
  return `${run}-${number}-${Math.round(monotonicMs() * 1_000)}`;
}
