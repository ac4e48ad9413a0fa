import { databaseCost, startService } from "./benchService.ts";
import {
  atLeast,
  atMost,
  type BenchSize,
  type Figure,
  median,
  rounds,
  type Slice,
  sliceOf,
  warmUp,
  whole,
} from "./figures.ts";
import { type LoadResult, postBytes, runLoad } from "./load.ts";
import { startProgram } from "./processes.ts";
import { connections, fixedItem, host, inTemporaryDirectory, itemBody, received } from "./workload.ts";

/** A service or its ceiling, with a receiver of its own. */
export interface Side {
  port: number;
  receiverPort: number;
  request: () => Buffer;
  /** 64 unless given. */
  connections?: number;
}

/** Items per second. */
export interface Done {
  accepted: number;
  delivered: number;
}

/** Accepting and delivering at the same time, saturated, compared with the same work in one process without storage. */
export async function inAndOutFigures(size: BenchSize): Promise<Figure[]> {
  const relayReceiver = await startProgram("./receiver.ts");
  const receiver = await startProgram("./receiver.ts");
  const relay = await startProgram("./bareRelay.ts", [urlOf(relayReceiver.port)]);
  const bytes = postBytes(`/t/${"0".repeat(32)}`, [], itemBody);
  const bareSide = { port: relay.port, receiverPort: relayReceiver.port, request: () => bytes };
  const figures = await inTemporaryDirectory(async (dataDir) => {
    const service = await startService({ dataDir });
    const target = await service.createTarget({ kind: "webhook", name: "bench", url: urlOf(receiver.port) });
    const side = {
      port: service.port,
      receiverPort: receiver.port,
      request: fixedItem(service, target),
    };
    await run(bareSide, warmUp(size));
    await run(side, warmUp(size));
    const costBefore = await databaseCost(service);
    const itemsBefore = await received(receiver.port);
    const results: { bare: Done; own: Done }[] = [];
    for (let round = 0; round < rounds; round++) {
      results.push({ bare: await run(bareSide, sliceOf(size)), own: await run(side, sliceOf(size)) });
    }
    const items = (await received(receiver.port)) - itemsBefore;
    const cost = await databaseCost(service);
    await service.stop();
    const over = (value: (round: { bare: Done; own: Done }) => number): number => median(results.map(value));
    const ratio = over(({ bare, own }) => operations(own) / operations(bare));
    const value = `${whole(over(({ own }) => own.accepted))} accepted and ${whole(over(({ own }) => own.delivered))} delivered/s`;
    return [
      {
        name: "the same HTTP work without storage",
        value: `${whole(over(({ bare }) => operations(bare)))} operations/s`,
      },
      atLeast("in and out, saturated", ratio, 0.65, value),
      atMost("statements per delivered item", (cost.statements - costBefore.statements) / items, 0.1, ""),
      atMost("WAL per delivered item", (cost.walBytes - costBefore.walBytes) / items / 1000, 1.6, "kB"),
    ];
  });
  await relay.stop();
  await relayReceiver.stop();
  await receiver.stop();
  return figures;
}

/** Loads one side for a slice, then waits until its backlog is delivered. */
export async function run(side: Side, slice: Slice): Promise<Done> {
  const load = (durationMs: number): Promise<LoadResult> =>
    runLoad({ host, connections, ...side, durationMs, warmupMs: 0, expect: 202 });
  await load(slice.warmupMs);
  const before = await received(side.receiverPort);
  const startedAt = performance.now();
  const { requests } = await load(slice.durationMs);
  const seconds = (performance.now() - startedAt) / 1000;
  const delivered = (await received(side.receiverPort)) - before;
  await untilQuiet(side.receiverPort);
  return { accepted: requests / seconds, delivered: delivered / seconds };
}

export async function untilQuiet(receiverPort: number): Promise<void> {
  for (let before = -1, now = await received(receiverPort); now !== before;) {
    await new Promise((resolve) => setTimeout(resolve, 300));
    before = now;
    now = await received(receiverPort);
  }
}

export function operations(done: Done): number {
  return done.accepted + done.delivered;
}

export function urlOf(port: number): string {
  return `http://127.0.0.1:${port}/`;
}
