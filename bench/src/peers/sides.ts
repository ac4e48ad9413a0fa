import pg from "pg";
import { type BenchService, startService } from "../benchService.ts";
import { sending } from "../drain.ts";
import { monotonicMs, postBytes } from "../load.ts";
import { startProgram } from "../processes.ts";
import type { PeerInput } from "./peer.ts";
import { findRedis, type RedisFlush, startRedis } from "./redis.ts";

/** A service that accepts jobs over HTTP and delivers them to the receiver. */
export interface Side {
  name: string;
  port: number;
  request: () => Buffer;
  /** The number of recorded attempts. */
  countAttempts(): Promise<number>;
}

export interface Sides {
  /** Postrider is the first. */
  sides: Side[];
  /** Why peers were left out. */
  notes: string[];
  stop: () => Promise<void>;
}

type End = () => Promise<void>;

/** Starts Postrider and every peer that can run here; each peer on PostgreSQL has its own database in Postrider's cluster. */
export async function startSides(dataDir: string, url: string): Promise<Sides> {
  const service = await startService({ dataDir, settings: sending });
  const ends: End[] = [() => service.stop()];
  const sides = [await postriderSide(service, url)];
  for (const peer of ["graphile-worker", "pg-boss"] as const) {
    const store = await createDatabase(service, peer.replace("-", "_"));
    const port = await startPeer({ peer, store, url }, ends);
    const countAttempts = (): Promise<number> => countRows(store);
    const request = (path: string) => () => postBytes(path, [], timedBody());
    sides.push(
      { name: `${peer}, a call for each job`, port, request: request("/one"), countAttempts },
      { name: `${peer}, many jobs in a call`, port, request: request("/many"), countAttempts },
    );
  }
  const notes: string[] = [];
  const redis = findRedis(process.env);
  if (redis === undefined) {
    notes.push(
      "BullMQ is left out: no redis-server is on the path. Install one (`apt-get install redis-server`), or name it in POSTRIDER_BENCH_REDIS.",
    );
  } else {
    sides.push(await bullmqSide(redis, "always", { url, ends }));
    sides.push(await bullmqSide(redis, "everysec", { url, ends }));
  }
  return {
    sides,
    notes,
    stop: async () => {
      for (const end of ends.toReversed()) await end();
    },
  };
}

async function postriderSide(service: BenchService, url: string): Promise<Side> {
  const target = await service.createTarget({ kind: "webhook", name: "bench", url });
  const authorization = `authorization: Bearer ${service.key}`;
  return {
    name: "Postrider",
    port: service.port,
    request: () => postBytes(`/t/${target}`, [authorization], timedBody()),
    async countAttempts() {
      const [row] = await service.sql<{ count: number }>(
        `select (
           (select coalesce(sum(cardinality(event_ids)), 0) from delivered_groups)
           + (select count(*) from attempts where status_code between 200 and 299)
         )::integer as count`,
      );
      return row!.count;
    },
  };
}

async function bullmqSide(
  redis: string,
  flush: RedisFlush,
  { url, ends }: { url: string; ends: End[] },
): Promise<Side> {
  const { socket, countCompleted, stop } = await startRedis(redis, flush);
  ends.push(stop);
  return {
    name: `BullMQ, appendfsync ${flush}`,
    port: await startPeer({ peer: "bullmq", store: { redisSocket: socket }, url }, ends),
    request: () => postBytes("/one", [], timedBody()),
    countAttempts: countCompleted,
  };
}

/** Starts two processes, as each peer advises: one accepts jobs, one works on them. Returns the port of the first. */
async function startPeer(input: PeerInput, ends: End[]): Promise<number> {
  const start = (task: string) => startProgram("./peers/peerProgram.ts", [task, JSON.stringify(input)]);
  await (await start("prepare")).stop();
  const server = await start("serve");
  ends.push(() => server.stop());
  const worker = await start("work");
  ends.push(() => worker.stop());
  return server.port;
}

async function createDatabase(service: BenchService, name: string): Promise<pg.PoolConfig> {
  await service.sql(`create database ${name}`);
  return { ...service.connection, database: name };
}

async function countRows(store: pg.PoolConfig): Promise<number> {
  const client = new pg.Client(store);
  await client.connect();
  const { rows } = await client.query<{ count: number }>(
    "select count(*)::integer as count from attempts where status_code between 200 and 299",
  );
  await client.end();
  return rows[0]!.count;
}

/** About 500 bytes, with the time of sending. */
function timedBody(): string {
  return JSON.stringify({ event_type: "order.created", sent_at: monotonicMs(), data: "x".repeat(410) });
}
