import { spawn } from "node:child_process";
import { fileURLToPath } from "node:url";
import { type BenchService, startService } from "./benchService.ts";
import { atLeast, type BenchSize, type Figure, median, perSecond, rounds, whole } from "./figures.ts";
import { endWithThis, startProgram, stopProcess } from "./processes.ts";
import { connections, fill, inTemporaryDirectory, turnMs } from "./workload.ts";

const sides = { bare: 0, service: 1 };
/** Lets the service have as many requests in flight as the loop: one target may have an eighth of the free requests. */
export const sending = {
  POSTRIDER_TARGET_CONCURRENCY: String(connections),
  POSTRIDER_MAX_IN_FLIGHT: String(connections * 16),
};

/**
 * Delivery of stored items, compared with the same signed posts without storage. Both sides post to one receiver, which
 * answers one side while the other waits. The order alternates from round to round.
 */
export async function drainFigures(size: BenchSize): Promise<Figure[]> {
  const receiver = await startProgram("./receiver.ts");
  const urlOf = (side: number): string => `http://127.0.0.1:${receiver.port}/turns/${side}`;
  const path = fileURLToPath(new URL("./bareSender.ts", import.meta.url));
  const bareSender = spawn(process.execPath, [path, urlOf(sides.bare), String(connections)], {
    stdio: ["ignore", "ignore", "inherit"],
  });
  endWithThis(bareSender);
  const measured = await inTemporaryDirectory(async (dataDir) => {
    const service = await startService({ dataDir, settings: sending });
    const target = await service.createTarget({ kind: "webhook", name: "bench", url: urlOf(sides.service) });
    const results: Round[] = [];
    for (let round = 0; round <= rounds; round++) {
      const result = await playRound(service, target, receiver.port, {
        items: size.drainItems,
        isOdd: round % 2 > 0,
      });
      // The first round warms up.
      if (round > 0) results.push(result);
    }
    await service.stop();
    return results;
  });
  await stopProcess(bareSender);
  await receiver.stop();
  const rate = (side: keyof Round): string =>
    perSecond(median(measured.map((round) => (size.drainItems * 1000) / round[side])));
  const ratio = median(measured.map(({ bare, service }) => bare / service));
  return [
    { name: "bare signed undici loop", value: rate("bare") },
    atLeast(`drain of ${whole(size.drainItems)} stored items`, ratio, 0.65, rate("service")),
  ];
}

/** Milliseconds that each side took. */
interface Round {
  bare: number;
  service: number;
}

async function playRound(
  service: BenchService,
  target: string,
  receiverPort: number,
  { items, isOdd }: { items: number; isOdd: boolean },
): Promise<Round> {
  await fill(service, target, items);
  const round = { bare: 0, service: 0 };
  const order: (keyof Round)[] = isOdd ? ["bare", "service"] : ["service", "bare"];
  for (const side of order) round[side] = await turnMs(receiverPort, sides[side], items);
  return round;
}
