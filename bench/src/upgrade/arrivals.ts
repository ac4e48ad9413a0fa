import { startReceiver } from "../../../server/test/support/receiver.ts";

/** The deliveries that a receiver got. */
export interface Arrivals {
  url: string;
  /** Deliveries per item id. */
  counts: Map<string, number>;
  /** Times of first deliveries, by `performance.now()`. */
  atMs: number[];
  stop(): Promise<void>;
}

export async function startArrivals(): Promise<Arrivals> {
  const counts = new Map<string, number>();
  const atMs: number[] = [];
  const receiver = await startReceiver(({ id }, response) => {
    const count = counts.get(id) ?? 0;
    if (count === 0) atMs.push(performance.now());
    counts.set(id, count + 1);
    response.writeHead(200).end();
  });
  return { url: receiver.url, counts, atMs, stop: () => receiver.stop() };
}
