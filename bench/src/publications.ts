import { randomBytes } from "node:crypto";
import { type BenchService, startService } from "./benchService.ts";
import { type BenchSize, type Figure, median } from "./figures.ts";
import { postBytes, runLoad } from "./load.ts";
import { usageOf } from "./usage.ts";
import { host, inTemporaryDirectory } from "./workload.ts";

/** Targets per publication, and the goal: the cost of an item in a publication divided by that of an item posted by itself. */
const sizes = [
  { targets: 5, goal: 0.5 },
  { targets: 100, goal: 0.2 },
] as const;
/** 1: one request after the other; 64: concurrent requests, which share group commits. */
const connectionCounts = [1, 64] as const;
const rounds = 5;

interface Cost {
  /** Processor time of the service's process and PostgreSQL's processes, in seconds. */
  cpu: number;
  walBytes: number;
  /** The time until the last item was accepted. */
  seconds: number;
}

/**
 * Compares the cost of accepting a publication with that of posts to the same targets, in alternating rounds: processor time of
 * the service and of PostgreSQL, and WAL. Nothing is delivered, because delivery costs both the same.
 */
export async function publicationFigures(size: BenchSize): Promise<Figure[]> {
  return inTemporaryDirectory(async (dataDir) => {
    const service = await startService({ dataDir, roles: "api" });
    try {
      const figures: Figure[] = [];
      for (const bytes of [500, 2_000]) {
        for (const { targets, goal } of sizes) {
          for (const connections of connectionCounts) {
            const items = connections === 1 ? size.drainItems / 50 : size.drainItems / 10;
            const ratio = await comparePublications(service, { targets, connections, bytes, items });
            const of = `${targets} targets, ${bytes} B, ${connections === 1 ? "one request at a time" : "64 at once"}`;
            figures.push(
              figureOf(`${of}: processor time`, ratio.cpu, { goal, unit: "µs", scale: 1e6 }),
              figureOf(`${of}: WAL`, ratio.walBytes, { goal, unit: "B", scale: 1 }),
            );
          }
        }
      }
      return figures;
    } finally {
      await service.stop();
    }
  });
}

/** The cost of an item in a publication, and of an item posted in a request of its own. */
export interface Pair {
  published: number;
  posted: number;
}

function figureOf(
  name: string,
  costs: readonly Pair[],
  { goal, unit, scale }: { goal: number; unit: string; scale: number },
): Figure {
  const of = (side: keyof Pair): string => (median(costs.map((cost) => cost[side])) * scale).toFixed(0);
  const ratio = median(costs.map(({ published, posted }) => published / posted));
  const value = `${of("published")} for ${of("posted")} ${unit} an item`;
  return { name, value, ratio, goal: `≤ ${goal}`, isMet: ratio <= goal };
}

export interface Comparison {
  targets: number;
  connections: number;
  bytes: number;
  /** Items per round and side. */
  items: number;
}

/** The cost of an item of a publication and of an item posted in its own request, in alternating rounds; one entry per round. */
export async function comparePublications(
  service: BenchService,
  { targets, connections, bytes, items }: Comparison,
): Promise<Record<keyof Cost, Pair[]>> {
  const headers = [`authorization: Bearer ${service.key}`];
  // Random data, which compresses as little as the ids and texts of real items.
  const data = randomBytes(bytes)
    .toString("base64")
    .slice(0, bytes - 40);
  const body = JSON.stringify({ event_type: "order.created", data });
  const customer = `of-${targets}-${connections}-${bytes}`;
  await fetch(`http://${host}:${service.port}/api/v1/customers/${customer}`, {
    method: "PUT",
    headers: { authorization: `Bearer ${service.key}`, "content-type": "application/json" },
    body: "{}",
  });
  const posts: Buffer[] = [];
  for (let n = 0; n < targets; n++) {
    const target = { kind: "webhook", name: `w${n}`, url: "http://127.0.0.1:9/", customer_uid: customer };
    posts.push(postBytes(`/t/${await service.createTarget(target)}`, headers, body));
  }
  const publication = postBytes(`/p/${customer}`, headers, body);
  const turn = (requests: number, request: (n: number) => Buffer) =>
    costOf(service, () =>
      runLoad({ host, port: service.port, connections, durationMs: 600_000, requests, request, expect: 202 }),
    );
  let n = 0;
  const nextPost = (): Buffer => posts[n++ % targets]!;
  const costs: Record<keyof Cost, Pair[]> = { cpu: [], walBytes: [], seconds: [] };
  const publications = Math.ceil(items / targets);
  for (let round = 0; round <= rounds; round++) {
    const published = await turn(publications, () => publication);
    const posted = await turn(publications * targets, nextPost);
    // The first round warms up, and writes full pages after a checkpoint.
    if (round === 0) continue;
    for (const cost of ["cpu", "walBytes", "seconds"] as const) {
      costs[cost].push({
        published: published[cost] / publications / targets,
        posted: posted[cost] / publications / targets,
      });
    }
  }
  return costs;
}

async function costOf(service: BenchService, work: () => Promise<unknown>): Promise<Cost> {
  const before = await usageOf(service);
  const startedAt = performance.now();
  await work();
  const seconds = (performance.now() - startedAt) / 1_000;
  const after = await usageOf(service);
  return {
    cpu: after.nodeSeconds + after.postgresSeconds - before.nodeSeconds - before.postgresSeconds,
    walBytes: after.walBytes - before.walBytes,
    seconds,
  };
}
