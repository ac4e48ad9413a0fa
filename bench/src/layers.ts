import { type BenchService, type BenchServiceOptions, startService } from "./benchService.ts";
import { runConsumers } from "./consumers.ts";
import { sending } from "./drain.ts";
import { atLeast, type BenchSize, type Figure, median, perSecond, type Slice, whole } from "./figures.ts";
import { startProgram } from "./processes.ts";
import { processorTimeOf } from "./usage.ts";
import { closedLoop, fill, inTemporaryDirectory, keyedItem, turnMs } from "./workload.ts";

/** A hand-written fast path: the setting that switches it off, and the figures that it was made for. */
interface Layer {
  name: string;
  off: Readonly<Record<string, string>>;
  figures: readonly Measure[];
}

/** How the service that this one is compared with differs: in settings, or in its version. */
export type Other = Pick<BenchServiceOptions, "settings" | "cli">;

/** One side's turn. */
interface Turn {
  perSecond: number;
  /** Microseconds of processor time per item: of the service's Node processes, and of its PostgreSQL processes. */
  nodeUs: number;
  postgresUs: number;
}

export interface Round {
  with: Turn;
  without: Turn;
}

export interface Measure {
  name: string;
  /** @returns the rounds that follow a warm-up round. */
  run(size: BenchSize, other: Other): Promise<Round[]>;
}

const rounds = 11;
const consumers = 64;
const batch = 50;

export const intake: Measure = {
  name: "intake with idempotency keys",
  run: (size, other) =>
    withBoth({ roles: "api,maintenance" }, other, async (services) => {
      const sides = await Promise.all(
        services.map(async (service) => {
          const target = await service.createTarget({
            kind: "webhook",
            name: "b",
            url: "http://127.0.0.1:9/",
          });
          return { service, request: keyedItem(service, target) };
        }),
      );
      return byTurns(async (side, isWarmUp) => {
        const { service, request } = sides[side]!;
        return timed(service, async () => {
          const { requests } = await closedLoop(service.port, sliceOf(size, isWarmUp), request);
          return requests;
        });
      });
    }),
};

export const claims: Measure = {
  name: `claim ${batch} and acknowledge ${batch}, messages`,
  run: (size, other) =>
    withBoth({ roles: "api,maintenance" }, other, async (services) => {
      const places = await Promise.all(
        services.map(async (service) => {
          const mailboxId = await service.createTarget({ kind: "mailbox", name: "b" });
          return { port: service.port, key: service.key, mailboxId };
        }),
      );
      return byTurns(async (side, isWarmUp) => {
        const slice = sliceOf(size, isWarmUp);
        // More messages than can be claimed during the slice.
        await fill(services[side]!, places[side]!.mailboxId, (slice.warmupMs + slice.durationMs) * 60);
        return timed(services[side]!, async () => {
          return (await runConsumers({ ...places[side]!, consumers, batch, ...slice })).completed;
        });
      });
    }),
};

export const drain = drainOf(1);
export const drainOfMany = drainOf(1_000);

/** Delivery of stored items that are spread over `targetCount` targets. */
function drainOf(targetCount: number): Measure {
  return {
    name: `drain of stored items, ${targetCount === 1 ? "one target" : `${whole(targetCount)} targets`}`,
    async run(size, other) {
      const receiver = await startProgram("./receiver.ts");
      const measured = await withBoth({ settings: sending }, other, async (services) => {
        const targets = await Promise.all(
          services.map(async (service, side) => {
            const url = `http://127.0.0.1:${receiver.port}/turns/${side}`;
            const ids: string[] = [];
            while (ids.length < targetCount)
              ids.push(await service.createTarget({ kind: "webhook", name: "b", url }));
            return ids;
          }),
        );
        const items = size.drainItems / 2;
        return byTurns(async (side) => {
          await fill(services[side]!, targets[side]!, items);
          return timed(services[side]!, async () => {
            await turnMs(receiver.port, side, items);
            return items;
          });
        });
      });
      await receiver.stop();
      return measured;
    },
  };
}

const layers: readonly Layer[] = [
  { name: "HTTP fast path", off: { POSTRIDER_FAST_HTTP: "off" }, figures: [intake] },
  { name: "hot calls", off: { POSTRIDER_FAST_SQL: "off" }, figures: [intake, claims, drain] },
];

/** Required gain: a layer that stays below this ratio in all of its figures is not worth its code. */
const rent = 1.05;

/**
 * The gain of each layer. Two services run in alternating rounds, one with the layer switched off. The figure is the
 * median over the rounds of the ratio of their rates, with its quartiles.
 */
export async function layerFigures(size: BenchSize): Promise<Figure[]> {
  const found: Figure[] = [];
  for (const layer of layers) {
    for (const measure of layer.figures) {
      process.stderr.write(`  ${layer.name}: ${measure.name} …\n`);
      const measured = await measure.run(size, { settings: layer.off });
      found.push(figureOf(`${layer.name}: ${measure.name}`, measured, rent));
    }
  }
  return found;
}

/** The median over the rounds of the ratio of both rates, with its quartiles and the processor time per item. */
export function figureOf(name: string, measured: readonly Round[], goal: number): Figure {
  const ratios = measured
    .map((round) => round.with.perSecond / round.without.perSecond)
    .toSorted((a, b) => a - b);
  const quartile = (part: number): string => ratios[Math.floor(ratios.length * part)]!.toFixed(2);
  const of = (side: keyof Round, field: keyof Turn): number =>
    median(measured.map((round) => round[side][field]));
  const rates = `${perSecond(of("with", "perSecond"))} for ${perSecond(of("without", "perSecond"))}`;
  const cost = (field: "nodeUs" | "postgresUs"): string =>
    `${of("with", field).toFixed(1)} for ${of("without", field).toFixed(1)} µs`;
  const value = `${rates}, ${quartile(0.25)} to ${quartile(0.75)}; Node ${cost("nodeUs")}, PostgreSQL ${cost("postgresUs")}`;
  return atLeast(name, median(ratios), goal, value);
}

/** Runs `work` with two services: this version with `options`, and the other one. */
function withBoth<T>(
  options: { roles?: string; settings?: Readonly<Record<string, string>> },
  other: Other,
  work: (services: readonly BenchService[]) => Promise<T>,
): Promise<T> {
  return inTemporaryDirectory((withDir) =>
    inTemporaryDirectory(async (withoutDir) => {
      const services = [
        await startService({ ...options, dataDir: withDir }),
        await startService({
          ...options,
          ...other,
          dataDir: withoutDir,
          settings: { ...options.settings, ...other.settings },
        }),
      ];
      const result = await work(services);
      await Promise.all(services.map((service) => service.stop()));
      return result;
    }),
  );
}

/** Runs both sides in each round; they alternate in which runs first. Side 0 has the layer. */
async function byTurns(turn: (side: number, isWarmUp: boolean) => Promise<Turn>): Promise<Round[]> {
  const measured: Round[] = [];
  for (let round = 0; round <= rounds; round++) {
    const turns: Turn[] = [];
    for (const side of round % 2 > 0 ? [0, 1] : [1, 0]) turns[side] = await turn(side, round === 0);
    if (round > 0) measured.push({ with: turns[0]!, without: turns[1]! });
  }
  return measured;
}

/** Measures `work`, which returns the number of items that it processed. */
async function timed(service: BenchService, work: () => Promise<number>): Promise<Turn> {
  const before = await processorTimeOf(service);
  const startedAt = performance.now();
  const items = await work();
  const seconds = (performance.now() - startedAt) / 1000;
  const after = await processorTimeOf(service);
  return {
    perSecond: items / seconds,
    nodeUs: ((after.node - before.node) * 1e6) / items,
    postgresUs: ((after.postgres - before.postgres) * 1e6) / items,
  };
}

/** A slice without a warm-up, so that time and items cover the same requests. */
function sliceOf(size: BenchSize, isWarmUp: boolean): Slice {
  return { durationMs: (isWarmUp ? 3 : 1) * (size.durationMs / rounds), warmupMs: 0 };
}
