import { startService } from "../benchService.ts";
import { median } from "../figures.ts";
import { hangingTargets, type Measured, measureNeighbours } from "../neighbours.ts";
import { comparePublications, type Pair } from "../publications.ts";
import { inTemporaryDirectory } from "../workload.ts";
import { type FiguresSize, type NeighbourFigure, type PublicationFigure, rounded } from "./record.ts";

/** Measures healthy targets beside hanging ones. */
export async function neighbourFigures({ turnMs }: FiguresSize): Promise<NeighbourFigure[]> {
  const measured = await measureNeighbours({ durationMs: turnMs * 4, warmupMs: turnMs * 2 });
  return measured.map(({ name, alone, beside }) => ({
    name,
    hangingTargets,
    alone: sideOf(alone),
    beside: sideOf([beside]),
  }));
}

function sideOf(measured: readonly Measured[]): NeighbourFigure["alone"] {
  const mean = (value: (one: Measured) => number): number =>
    rounded(measured.reduce((sum, one) => sum + value(one), 0) / measured.length);
  return {
    p50Ms: mean(({ latency }) => latency.p50),
    p99Ms: mean(({ latency }) => latency.p99),
    deliveredPerSecond: mean((one) => one.deliveredPerSecond),
  };
}

const publicationTargets = [5, 100];
const publicationPayloadBytes = 2_000;

/** Compares items of publications with items posted one by one, in concurrent requests. Nothing is delivered meanwhile. */
export async function publicationsOf({ drainItems }: FiguresSize): Promise<PublicationFigure[]> {
  return inTemporaryDirectory(async (dataDir) => {
    const service = await startService({ dataDir, roles: "api" });
    const figures: PublicationFigure[] = [];
    for (const targets of publicationTargets) {
      const comparison = { targets, connections: 64, bytes: publicationPayloadBytes, items: drainItems };
      const costs = await comparePublications(service, comparison);
      const sideOf = (side: keyof Pair): PublicationFigure["posted"] => ({
        perSecond: rounded(1 / median(costs.seconds.map((pair) => pair[side]))),
        cpuUs: rounded(median(costs.cpu.map((pair) => pair[side])) * 1e6),
        walBytes: rounded(median(costs.walBytes.map((pair) => pair[side]))),
      });
      figures.push({
        targets,
        payloadBytes: publicationPayloadBytes,
        published: sideOf("published"),
        posted: sideOf("posted"),
      });
    }
    await service.stop();
    return figures;
  });
}
