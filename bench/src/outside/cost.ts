import { cpuUsage } from "node:process";
import { type Figure, whole } from "../figures.ts";
import { useOf, type WatchedUse } from "./watched.ts";

/** The resources that a phase used. */
export interface Measured {
  /** Number of deliveries, or of acknowledged messages. */
  deliveries: number;
  /** Use by the watched processes; undefined if none are watched. */
  service?: { before: WatchedUse; after: WatchedUse };
  /** Processor seconds of client, receiver and this process. */
  ownSeconds: number;
}

/**
 * Runs `work`, which resolves with the number of deliveries, and reads the resource use before and after it: of the watched
 * processes, and of the benchmark, which is this process and its `parts`.
 */
export async function watch(
  watched: readonly string[],
  parts: readonly number[],
  work: () => Promise<number>,
): Promise<Measured> {
  const read = async () => ({
    service: watched.length === 0 ? undefined : await useOf(watched),
    ownSeconds: (await useOf(parts.map(String))).seconds + (cpuUsage().user + cpuUsage().system) / 1e6,
  });
  const before = await read();
  const deliveries = await work();
  const after = await read();
  return {
    deliveries,
    ownSeconds: after.ownSeconds - before.ownSeconds,
    ...(before.service !== undefined &&
      after.service !== undefined && { service: { before: before.service, after: after.service } }),
  };
}

const plural = { delivery: "deliveries", message: "messages" };

/** The figures of a phase; empty without watched processes. */
export function costFigures(
  when: string,
  { deliveries, service, ownSeconds }: Measured,
  unit: keyof typeof plural = "delivery",
): Figure[] {
  if (service === undefined || deliveries === 0) return [];
  const { before, after } = service;
  const seconds = after.seconds - before.seconds;
  const perThousand = (of: number): string => `${whole((of * 1_000 * 1_000) / deliveries)} ms`;
  const figures: Figure[] = [
    { name: `processor time per 1,000 ${plural[unit]}, ${when}`, value: perThousand(seconds) },
    {
      name: "the same of client and receiver",
      value: perThousand(ownSeconds),
      ratio: ownSeconds / seconds,
    },
  ];
  if (before.writtenBytes !== undefined && after.writtenBytes !== undefined) {
    const kilobytes = (after.writtenBytes - before.writtenBytes) / deliveries / 1_000;
    figures.push({ name: `written to disk per ${unit}, ${when}`, value: `${kilobytes.toFixed(1)} kB` });
  }
  if (after.memoryBytes !== undefined)
    figures.push({
      name: `memory at the end, ${when}`,
      value: `${whole(after.memoryBytes / 1_000_000)} MB`,
    });
  return figures;
}
