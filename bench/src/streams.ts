import { randomBytes } from "node:crypto";
import { setTimeout as delay } from "node:timers/promises";
import { type BenchService, startService } from "./benchService.ts";
import { atLeast, atMost, type BenchSize, type Figure, median, perSecond } from "./figures.ts";
import { openStreams } from "./openStreams.ts";
import { closedLoop, fixedItem, inTemporaryDirectory } from "./workload.ts";

/** Each stream belongs to an organization of its own and has a key of its own, so that they share no cost. */
const idleStreams = 5_000;
/** Streams of the organization that accepts the items: some clients read, some never do. */
const readStreams = 50;
const stuckStreams = 50;
const slices = 7;
const restMs = 20_000;
/** The service watches an organization for another minute after its last stream. */
const forgottenMs = 65_000;

/**
 * Measures the cost of thousands of idle streams: memory, processor time at rest, and intake beside them. Then the cost of the
 * streams of a busy organization, half of which are never read.
 */
export async function streamsFigures(size: BenchSize): Promise<Figure[]> {
  return inTemporaryDirectory(async (dataDir) => {
    const service = await startService({ dataDir });
    const keys = await addOrganizations(service, idleStreams);
    const target = await service.createTarget({ kind: "mailbox", name: "bench" });
    const request = fixedItem(service, target);
    const intake = async (): Promise<number> => {
      const rates: number[] = [];
      for (let slice = 0; slice < slices; slice++) {
        const length = { durationMs: size.durationMs / slices, warmupMs: 200 };
        rates.push((await closedLoop(service.port, length, request)).perSecond);
      }
      return median(rates);
    };
    await closedLoop(service.port, { durationMs: size.warmupMs, warmupMs: 0 }, request);
    const restBefore = await atRest(service);
    const before = await intake();
    const startedAtMs = performance.now();
    const idle = await openStreams(service.port, keys);
    const openingSeconds = (performance.now() - startedAtMs) / 1000;
    const restBeside = await atRest(service);
    const beside = await intake();
    await idle.close();
    await delay(forgottenMs);
    const after = await intake();
    const own = Array.from({ length: readStreams }, () => service.key);
    const read = await openStreams(service.port, own);
    const stuck = await openStreams(service.port, own.slice(0, stuckStreams), false);
    const restWatched = await memoryOf(service);
    const watched = await intake();
    const grownBytes = (await memoryOf(service)) - restWatched;
    await Promise.all([read.close(), stuck.close()]);
    await delay(forgottenMs);
    const last = await intake();
    await service.stop();
    const perStream = (restBeside.bytes - restBefore.bytes) / idleStreams / 1024;
    return [
      { name: "opening 5,000 streams", value: `${openingSeconds.toFixed(1)} s` },
      atMost("memory of an idle stream", perStream, 64, "KiB"),
      atMost("Node's processor time for 5,000 idle streams", restBeside.node - restBefore.node, 0.1, "cores"),
      atMost(
        "processor time of the database for them",
        restBeside.database - restBefore.database,
        0.1,
        "cores",
      ),
      ratio("intake beside 5,000 idle streams", beside, [before, after]),
      ratio("intake of an organization with 100 streams, 50 of them never read", watched, [after, last]),
      atMost("growth of the service's memory meanwhile", grownBytes / 1024 / 1024, 100, "MiB"),
    ];
  });
}

function ratio(name: string, beside: number, without: readonly [number, number]): Figure {
  const ceiling = (without[0] + without[1]) / 2;
  return atLeast(name, beside / ceiling, 0.95, `${perSecond(beside)} for ${perSecond(ceiling)}`);
}

/** Organizations with a key each, as signup creates them. */
async function addOrganizations(service: BenchService, count: number): Promise<string[]> {
  const run = randomBytes(16).toString("hex");
  await service.sql(
    `with made as (
       insert into organizations (id, name, slug, billing_status, created_at)
       select gen_random_uuid(), 'idle ' || n, 'idle-' || n, 'active', 1
       from generate_series(0, ${count - 1}) as n
       returning id, slug
     )
     insert into api_keys (id, org_id, name, key_hash, prefix, created_at)
     select gen_random_uuid(), id, 'idle',
       sha256(convert_to('ak_live_${run}' || lpad(substr(slug, 6), 32, '0'), 'UTF8')), 'ak_live_${run.slice(0, 4)}', 1
     from made`,
  );
  await service.sql("analyze organizations, api_keys");
  return Array.from({ length: count }, (_, n) => `ak_live_${run}${String(n).padStart(32, "0")}`);
}

interface Rest {
  /** Processor cores used by the service's process. */
  node: number;
  /** Processor cores used by the database's statements. */
  database: number;
  /** Memory of the service's process. */
  bytes: number;
}

/** The cost of the service while it gets no requests. */
async function atRest(service: BenchService): Promise<Rest> {
  // Waits until work left from the previous run is done.
  await delay(restMs / 2);
  const [cpu, busyMs] = [await metric(service, "process_cpu_seconds_total"), await databaseMs(service)];
  await delay(restMs);
  return {
    node: ((await metric(service, "process_cpu_seconds_total")) - cpu) / (restMs / 1000),
    database: ((await databaseMs(service)) - busyMs) / restMs,
    bytes: await memoryOf(service),
  };
}

function memoryOf(service: BenchService): Promise<number> {
  return metric(service, "process_resident_memory_bytes");
}

async function databaseMs(service: BenchService): Promise<number> {
  const [row] = await service.sql<{ ms: number }>(
    "select active_time as ms from pg_stat_database where datname = current_database()",
  );
  return row!.ms;
}

async function metric({ port }: BenchService, name: string): Promise<number> {
  const text = await (await fetch(`http://127.0.0.1:${port}/metrics`)).text();
  return Number(new RegExp(`^${name} (\\S+)$`, "m").exec(text)?.[1]);
}
