import { execFile } from "node:child_process";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { startService } from "./benchService.ts";
import { atLeast, type BenchSize, type Figure, median, perSecond, whole } from "./figures.ts";
import { startProgram } from "./processes.ts";
import { connections, fill, inTemporaryDirectory, received, untilReceived } from "./workload.ts";

const drains = 5;
/** Sent before either side is measured, by the same process: what a fresh one compiles meanwhile is not the figure. */
const warmUpItems = 20_000;
/** Both sides keep as many requests under way. One target may have an eighth of what is free for all. */
const sending = {
  POSTRIDER_TARGET_CONCURRENCY: String(connections),
  POSTRIDER_MAX_IN_FLIGHT: String(connections * 16),
};

/** Delivering what is stored, against the same signed posts without storage. */
export async function drainFigures(size: BenchSize): Promise<Figure[]> {
  const receiver = await startProgram("./receiver.ts");
  const bare: number[] = [await bareSending(receiver.port, size.drainItems)];
  const drained: number[] = [];
  for (let round = 0; round < drains; round++) {
    drained.push(await drain(receiver.port, size.drainItems));
    bare.push(await bareSending(receiver.port, size.drainItems));
  }
  await receiver.stop();
  // Against what was measured right before and right after, because the machine may change within a minute.
  const ratio = median(drained.map((rate, round) => (2 * rate) / (bare[round]! + bare[round + 1]!)));
  return [
    { name: "bare signed undici loop", value: perSecond(median(bare)) },
    atLeast(`drain of ${whole(size.drainItems)} stored items`, ratio, 0.65, perSecond(median(drained))),
  ];
}

/** Items per second, once the restarted service has warmed up. */
async function drain(receiverPort: number, items: number): Promise<number> {
  return inTemporaryDirectory(async (dataDir) => {
    const filling = await startService({ dataDir, roles: "api" });
    const url = `http://127.0.0.1:${receiverPort}/`;
    const target = await filling.createTarget({ kind: "webhook", name: "bench", url });
    await fill(filling, target, warmUpItems + items);
    const { key } = filling;
    await filling.stop();
    const before = await received(receiverPort);
    const service = await startService({ dataDir, key, settings: sending });
    await untilReceived(receiverPort, before + warmUpItems);
    const startedAt = performance.now();
    const startedWith = await received(receiverPort);
    await untilReceived(receiverPort, before + warmUpItems + items);
    const rate = (before + warmUpItems + items - startedWith) / ((performance.now() - startedAt) / 1000);
    await service.stop();
    return rate;
  });
}

async function bareSending(receiverPort: number, items: number): Promise<number> {
  const path = fileURLToPath(new URL("./bareSender.ts", import.meta.url));
  const url = `http://127.0.0.1:${receiverPort}/`;
  const { stdout } = await promisify(execFile)(process.execPath, [
    path,
    url,
    String(items),
    String(warmUpItems),
    String(connections),
  ]);
  return Number(stdout);
}
