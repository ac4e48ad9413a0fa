import { startReceiver } from "../../../server/test/support/receiver.ts";

/** What a receiver got: how often each item, and when it came first. */
export interface Arrivals {
  url: string;
  /** By the item's id. */
  counts: Map<string, number>;
  /** Of first arrivals, by `performance.now()`. */
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
