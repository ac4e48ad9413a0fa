import { execFile } from "node:child_process";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { startService } from "./benchService.ts";
import { atLeast, type BenchSize, type Figure, median, perSecond, whole } from "./figures.ts";
import { startProgram } from "./processes.ts";
import { fill, inTemporaryDirectory, received, untilReceived } from "./workload.ts";

const drains = 5;
/** Sent before either side is measured, by the same process: what a fresh one compiles meanwhile is not the figure. */
const warmUpItems = 20_000;

/** Delivering what is stored, against the same signed posts without storage. */
export async function drainFigures(size: BenchSize): Promise<Figure[]> {
  const receiver = await startProgram("./receiver.ts");
  const results: { bare: number; drained: number }[] = [];
  for (let round = 0; round < drains; round++) {
    const bare = await bareSending(receiver.port, size.drainItems);
    results.push({ bare, drained: await drain(receiver.port, size.drainItems) });
  }
  await receiver.stop();
  const ratio = median(results.map(({ bare, drained }) => drained / bare));
  return [
    { name: "bare signed undici loop", value: perSecond(median(results.map(({ bare }) => bare))) },
    atLeast(
      `drain of ${whole(size.drainItems)} stored items`,
      ratio,
      0.65,
      perSecond(median(results.map(({ drained }) => drained))),
    ),
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
    const service = await startService({ dataDir, key });
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
  ]);
  return Number(stdout);
}
