import { randomBytes } from "node:crypto";
import { readdir, readFile } from "node:fs/promises";
import { type BenchService, databaseCost, startService } from "./benchService.ts";
import { type BenchSize, type Figure, median } from "./figures.ts";
import { postBytes, runLoad } from "./load.ts";
import { host, inTemporaryDirectory } from "./workload.ts";

/** How many targets a publication has, and the most of the same posts' cost that it may take. */
const sizes = [
  { targets: 5, goal: 0.5 },
  { targets: 100, goal: 0.2 },
] as const;
/** 1: a program that sends one request after the other; 64: many at once, which group commit takes together. */
const connectionCounts = [1, 64] as const;
const rounds = 5;
const ticksPerSecond = 100;

/** What some items cost. */
interface Cost {
  /** Of the service's process and of all of PostgreSQL's, in seconds. */
  cpu: number;
  walBytes: number;
}

/**
 * What the acceptance of a publication costs against posts to the same targets, by turns: processor time of the service and
 * of PostgreSQL, and WAL. Nothing is delivered meanwhile, which would cost both the same.
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
            const ratio = await compare(service, { targets, connections, bytes, items });
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

/** What an item cost in a publication and alone. */
interface Pair {
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

interface Comparison {
  targets: number;
  connections: number;
  bytes: number;
  /** In each turn of each side. */
  items: number;
}

async function compare(
  service: BenchService,
  { targets, connections, bytes, items }: Comparison,
): Promise<Record<keyof Cost, Pair[]>> {
  const headers = [`authorization: Bearer ${service.key}`];
  // As little compressible as the ids and texts of real items.
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
  const cpu: Pair[] = [];
  const walBytes: Pair[] = [];
  const publications = Math.ceil(items / targets);
  for (let round = 0; round <= rounds; round++) {
    const published = await turn(publications, () => publication);
    const posted = await turn(publications * targets, nextPost);
    // The first warms both up, and writes whole pages after a checkpoint.
    if (round === 0) continue;
    const pairOf = (cost: keyof Cost): Pair => ({
      published: published[cost] / publications / targets,
      posted: posted[cost] / publications / targets,
    });
    cpu.push(pairOf("cpu"));
    walBytes.push(pairOf("walBytes"));
  }
  return { cpu, walBytes };
}

async function costOf(service: BenchService, work: () => Promise<unknown>): Promise<Cost> {
  const before = { cpu: await processorSeconds(service), wal: (await databaseCost(service)).walBytes };
  await work();
  return {
    cpu: (await processorSeconds(service)) - before.cpu,
    walBytes: (await databaseCost(service)).walBytes - before.wal,
  };
}

/** Of the service's process, and of every process of its PostgreSQL that lives or has ended. */
async function processorSeconds(service: BenchService): Promise<number> {
  const metrics = await (await fetch(`http://${host}:${service.port}/metrics`)).text();
  const node = Number(/^process_cpu_seconds_total (\S+)$/m.exec(metrics)?.[1]);
  const [row] = await service.sql<{ pid: number }>("select pg_backend_pid() as pid");
  const postmaster = (await statOf(String(row!.pid)))!.parent;
  const processes = await Promise.all(
    (await readdir("/proc")).filter((name) => /^\d+$/.test(name)).map(statOf),
  );
  let ticks = 0;
  for (const one of processes) {
    if (one === undefined) continue;
    if (one.pid === postmaster) ticks += one.own + one.ofEnded;
    else if (one.parent === postmaster) ticks += one.own;
  }
  return node + ticks / ticksPerSecond;
}

/** A process as proc(5) has it in `stat`; undefined for one that has ended. */
async function statOf(pid: string) {
  const text = await readFile(`/proc/${pid}/stat`, "utf8").catch(() => undefined);
  if (text === undefined) return undefined;
  // After the name, which may hold anything.
  const fields = text.slice(text.lastIndexOf(")") + 2).split(" ");
  const sum = (first: number): number => Number(fields[first]) + Number(fields[first + 1]);
  return { pid, parent: fields[1]!, own: sum(11), ofEnded: sum(13) };
}
