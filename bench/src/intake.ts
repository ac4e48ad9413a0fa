import { startService } from "./benchService.ts";
import {
  atLeast,
  atMost,
  type BenchSize,
  type Figure,
  median,
  perSecond,
  rounds,
  sliceOf,
  warmUp,
} from "./figures.ts";
import { type LoadResult, postBytes } from "./load.ts";
import { startProgram } from "./processes.ts";
import { closedLoop, fixedItem, inTemporaryDirectory, itemBody, keyedItem } from "./workload.ts";

interface Round {
  bare: LoadResult;
  plain: LoadResult;
  keyed: LoadResult;
}

/** Intake, authorized and durable, with and without idempotency keys, compared with a bare Fastify. */
export async function intakeFigures(size: BenchSize): Promise<Figure[]> {
  const bare = await startProgram("./bareServer.ts");
  const key = `ak_live_${"a".repeat(64)}`;
  const bytes = postBytes(`/t/${"0".repeat(32)}`, [`authorization: Bearer ${key}`], itemBody);
  const measured = await inTemporaryDirectory(async (dataDir) => {
    const service = await startService({ dataDir, roles: "api,maintenance" });
    const target = await service.createTarget({ kind: "webhook", name: "bench", url: "http://127.0.0.1:9/" });
    const plain = fixedItem(service, target);
    const keyed = keyedItem(service, target);
    const results: Round[] = [];
    for (let round = 0; round <= rounds; round++) {
      const slice = round === 0 ? warmUp(size) : sliceOf(size);
      const result = {
        bare: await closedLoop(bare.port, slice, () => bytes),
        plain: await closedLoop(service.port, slice, plain),
        keyed: await closedLoop(service.port, slice, keyed),
      };
      if (round > 0) results.push(result);
    }
    await service.stop();
    return results;
  });
  await bare.stop();
  return [
    { name: "bare Fastify 202", value: perSecond(median(measured.map((round) => round.bare.perSecond))) },
    against("intake, durable", measured, "plain", 0.5),
    against("intake, durable, with idempotency keys", measured, "keyed", 0.35),
    atMost("p99 of the 202, 64 connections", median(measured.map(({ plain }) => plain.p99)), 15),
  ];
}

function against(name: string, results: Round[], kind: "plain" | "keyed", goal: number): Figure {
  const of = (field: "perSecond" | "p50" | "p95" | "p99"): number =>
    median(results.map((round) => round[kind][field]));
  const detail = `p50 ${of("p50").toFixed(1)} p95 ${of("p95").toFixed(1)} p99 ${of("p99").toFixed(1)} ms`;
  const ratio = median(results.map((round) => round[kind].perSecond / round.bare.perSecond));
  return atLeast(name, ratio, goal, `${perSecond(of("perSecond"))}, ${detail}`);
}
