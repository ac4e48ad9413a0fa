import { execFile } from "node:child_process";
import { randomBytes } from "node:crypto";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { type LoadResult, monotonicMs, postBytes, runLoad, summarize } from "./load.ts";
import { startProgram } from "./processes.ts";
import { type BenchService, databaseCost, startService } from "./benchService.ts";

/** One line of the report. */
export interface Figure {
  name: string;
  value: string;
  /** Against the ceiling of the same run, where the figure has one. */
  ratio?: number;
  /** What the figure has to reach, and whether it did. */
  goal?: string;
  isMet?: boolean;
}

export interface BenchSize {
  durationMs: number;
  warmupMs: number;
  drainItems: number;
}

const connections = 64;
/** About 500 bytes, as the figures say. */
const itemBody = JSON.stringify({ event_type: "order.created", data: "x".repeat(440) });
const host = "127.0.0.1";

function closedLoop(port: number, size: BenchSize, request: (n: number) => Buffer): Promise<LoadResult> {
  return runLoad({ host, port, connections, ...size, expect: 202, request });
}

async function inTemporaryDirectory<T>(work: (dataDir: string) => Promise<T>): Promise<T> {
  const dataDir = await mkdtemp(join(tmpdir(), "postrider-bench-"));
  try {
    return await work(dataDir);
  } finally {
    await rm(dataDir, { recursive: true, force: true });
  }
}

function fixedItem(service: BenchService, target: string): () => Buffer {
  const bytes = postBytes(`/t/${target}`, [`authorization: Bearer ${service.key}`], itemBody);
  return () => bytes;
}

function keyedItem(service: BenchService, target: string): (n: number) => Buffer {
  const run = randomBytes(6).toString("hex");
  const authorization = `authorization: Bearer ${service.key}`;
  return (n) => postBytes(`/t/${target}`, [authorization, `idempotency-key: ${run}-${n}`], itemBody);
}

/** Intake, authorized and durable, with and without idempotency keys, against a bare Fastify. */
export async function intakeFigures(size: BenchSize): Promise<Figure[]> {
  const bare = await startProgram("./bareServer.ts");
  const key = `ak_live_${"a".repeat(64)}`;
  const bytes = postBytes(`/t/${"0".repeat(32)}`, [`authorization: Bearer ${key}`], itemBody);
  const before = await closedLoop(bare.port, size, () => bytes);
  const measured = await inTemporaryDirectory(async (dataDir) => {
    const service = await startService({ dataDir, roles: "api,maintenance" });
    const target = await service.createTarget({ kind: "webhook", name: "bench", url: "http://127.0.0.1:9/" });
    const plain = await closedLoop(service.port, size, fixedItem(service, target));
    const keyed = await closedLoop(service.port, size, keyedItem(service, target));
    await service.stop();
    return { plain, keyed };
  });
  const after = await closedLoop(bare.port, size, () => bytes);
  await bare.stop();
  const ceiling = (before.perSecond + after.perSecond) / 2;
  const { plain, keyed } = measured;
  return [
    { name: "bare Fastify 202", value: perSecond(before) },
    against("intake, durable", plain, ceiling, 0.5),
    against("intake, durable, with idempotency keys", keyed, ceiling, 0.35),
    atMost("p99 of the 202, 64 connections", plain.p99, 15),
  ];
}

/** Accepting and delivering at once, saturated, against the same work in one process without storage. */
export async function inAndOutFigures(size: BenchSize): Promise<Figure[]> {
  const receiver = await startProgram("./receiver.ts");
  const url = `http://127.0.0.1:${receiver.port}/`;
  const relay = await startProgram("./bareRelay.ts", [url]);
  const relayBytes = postBytes(`/t/${"0".repeat(32)}`, [], itemBody);
  await closedLoop(relay.port, size, () => relayBytes);
  const counts = (await (await fetch(`http://127.0.0.1:${relay.port}/counts`)).json()) as Counts;
  await relay.stop();
  const bareOperations = (counts.accepted + counts.delivered) / ((size.warmupMs + size.durationMs) / 1000);
  const figures = await inTemporaryDirectory(async (dataDir) => {
    const service = await startService({ dataDir });
    const target = await service.createTarget({ kind: "webhook", name: "bench", url });
    const request = fixedItem(service, target);
    await closedLoop(service.port, { ...size, durationMs: 500 }, request);
    const costBefore = await databaseCost(service);
    const receivedBefore = await received(receiver.port);
    const startedAt = performance.now();
    const load = await closedLoop(service.port, { ...size, warmupMs: 0 }, request);
    const deliveredMeanwhile = (await received(receiver.port)) - receivedBefore;
    const seconds = (performance.now() - startedAt) / 1000;
    await untilReceived(receiver.port, receivedBefore + load.requests);
    const cost = await databaseCost(service);
    await service.stop();
    const operations = (load.requests + deliveredMeanwhile) / seconds;
    return [
      { name: "the same HTTP work without storage", value: `${round(bareOperations)} operations/s` },
      {
        ...atLeast("in and out, saturated", operations / bareOperations, 0.65),
        value: `${round(load.requests / seconds)} accepted and ${round(deliveredMeanwhile / seconds)} delivered/s`,
      },
      atMost(
        "statements per delivered item",
        (cost.statements - costBefore.statements) / load.requests,
        0.1,
        "",
      ),
      atMost(
        "WAL per delivered item",
        (cost.walBytes - costBefore.walBytes) / load.requests / 1000,
        1.6,
        " kB",
      ),
    ];
  });
  await receiver.stop();
  return figures;
}

interface Counts {
  accepted: number;
  delivered: number;
}

/** From the client's sending to the receiver's reading, at a thousand items a second. */
export async function latencyFigures(size: BenchSize): Promise<Figure[]> {
  const receiver = await startProgram("./receiver.ts");
  const result = await inTemporaryDirectory(async (dataDir) => {
    const service = await startService({ dataDir });
    const url = `http://127.0.0.1:${receiver.port}/measured`;
    const target = await service.createTarget({ kind: "webhook", name: "bench", url });
    const authorization = `authorization: Bearer ${service.key}`;
    const request = (): Buffer => {
      const body = JSON.stringify({ sent_at: monotonicMs(), data: "x".repeat(440) });
      return postBytes(`/t/${target}`, [authorization], body);
    };
    const run = { host, port: service.port, connections, expect: 202, rate: 1_000, request };
    await runLoad({ ...run, durationMs: 2_000 });
    await fetch(`http://127.0.0.1:${receiver.port}/latency`);
    await runLoad({ ...run, durationMs: size.durationMs });
    await new Promise((resolve) => setTimeout(resolve, 500));
    const answer = await fetch(`http://127.0.0.1:${receiver.port}/latency`);
    const { latencies } = (await answer.json()) as { latencies: number[] };
    await service.stop();
    return summarize(latencies, 0, size.durationMs / 1000);
  });
  await receiver.stop();
  return [
    atMost("accept → receiver at 1,000/s, p50", result.p50, 3),
    atMost("accept → receiver at 1,000/s, p99", result.p99, 15),
  ];
}

/** Delivering what is stored, against the same signed posts without storage. */
export async function drainFigures(size: BenchSize): Promise<Figure[]> {
  const receiver = await startProgram("./receiver.ts");
  const url = `http://127.0.0.1:${receiver.port}/`;
  const bare = await bareSending(url, size.drainItems);
  const drained = await inTemporaryDirectory(async (dataDir) => {
    const filling = await startService({ dataDir, roles: "api" });
    const target = await filling.createTarget({ kind: "webhook", name: "bench", url });
    await runLoad({
      host,
      port: filling.port,
      connections,
      durationMs: 120_000,
      requests: size.drainItems,
      expect: 202,
      request: fixedItem(filling, target),
    });
    const { key } = filling;
    await filling.stop();
    const before = await received(receiver.port);
    const service = await startService({ dataDir, key });
    // Measured from the first tenth to the last item, so that the start of the process does not count.
    await untilReceived(receiver.port, before + size.drainItems / 10);
    const startedAt = performance.now();
    const startedWith = await received(receiver.port);
    await untilReceived(receiver.port, before + size.drainItems);
    const rate = (before + size.drainItems - startedWith) / ((performance.now() - startedAt) / 1000);
    await service.stop();
    return rate;
  });
  await receiver.stop();
  return [
    { name: "bare signed undici loop", value: `${round(bare)}/s` },
    {
      ...atLeast(`drain of ${round(size.drainItems)} stored items`, drained / bare, 0.65),
      value: `${round(drained)}/s`,
    },
  ];
}

async function bareSending(url: string, items: number): Promise<number> {
  const path = fileURLToPath(new URL("./bareSender.ts", import.meta.url));
  const { stdout } = await promisify(execFile)(process.execPath, [path, url, String(items)]);
  return Number(stdout);
}

const storedEvents = 1_000_000;

/** Whether a million stored events slow the service down: the same run before and after they were stored. */
export async function storedFigures(size: BenchSize): Promise<Figure[]> {
  const receiver = await startProgram("./receiver.ts");
  const url = `http://127.0.0.1:${receiver.port}/`;
  const [empty, filled] = await inTemporaryDirectory(async (dataDir) => {
    const service = await startService({ dataDir });
    const target = await service.createTarget({ kind: "webhook", name: "bench", url });
    const request = fixedItem(service, target);
    await closedLoop(service.port, { ...size, durationMs: 500 }, request);
    const first = await closedLoop(service.port, { ...size, warmupMs: 0 }, request);
    await storeEvents(service, target);
    await closedLoop(service.port, { ...size, durationMs: 500 }, request);
    const second = await closedLoop(service.port, { ...size, warmupMs: 0 }, request);
    await service.stop();
    return [first, second] as const;
  });
  await receiver.stop();
  return [
    {
      ...atLeast("throughput with 1 million stored events ÷ empty", filled.perSecond / empty.perSecond, 0.9),
      value: `${round(filled.perSecond)}/s after ${round(empty.perSecond)}/s`,
    },
  ];
}

/** Copies one delivered event under new ids until a million are stored, with an attempt for each. */
async function storeEvents(service: BenchService, target: string): Promise<void> {
  const step = 100_000;
  for (let done = 0; done < storedEvents; done += step) {
    await service.sql(
      `with made as (
         insert into events (bucket, kind, max_retries, billable, target_id, id, org_id, event_type, payload)
         select e.bucket, e.kind, e.max_retries, false, e.target_id,
           (substr(e.id::text, 1, 14) || '7' || substr(md5(random()::text), 1, 3) || '-8'
             || substr(md5(random()::text), 1, 3) || '-' || substr(md5(random()::text), 1, 10)
             || substr(e.id::text, 35, 2))::uuid,
           e.org_id, e.event_type, e.payload
         from (select * from events where target_id = '${target}' order by id limit 1) e
         cross join generate_series(1, ${step})
         on conflict do nothing
         returning bucket, id, org_id, target_id
       )
       insert into attempts (bucket, number, outcome, status_code, duration_ms, event_id, org_id, target_id, attempted_at)
       select bucket, 1, 1, 200, 1, id, org_id, target_id, 0
       from made`,
    );
  }
  await service.sql("vacuum analyze");
}

async function received(port: number): Promise<number> {
  const { count } = (await (await fetch(`http://127.0.0.1:${port}/count`)).json()) as { count: number };
  return count;
}

async function untilReceived(port: number, count: number): Promise<void> {
  const deadline = performance.now() + 120_000;
  while ((await received(port)) < count) {
    if (performance.now() > deadline) throw new Error(`fewer than ${count} items arrived within two minutes`);
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
}

function against(name: string, result: LoadResult, ceiling: number, goal: number): Figure {
  const detail = `p50 ${result.p50.toFixed(1)} p95 ${result.p95.toFixed(1)} p99 ${result.p99.toFixed(1)} ms`;
  const failed = result.errors > 0 ? `, ${result.errors} ERRORS` : "";
  return {
    ...atLeast(name, result.perSecond / ceiling, goal),
    value: `${perSecond(result)}, ${detail}${failed}`,
  };
}

function atLeast(name: string, ratio: number, goal: number): Figure {
  return { name, value: "", ratio, goal: `≥ ${goal}`, isMet: ratio >= goal };
}

function atMost(name: string, value: number, goal: number, unit = " ms"): Figure {
  return {
    name,
    value: `${value.toFixed(unit === " ms" ? 1 : 3)}${unit}`,
    goal: `≤ ${goal}${unit}`,
    isMet: value <= goal,
  };
}

function perSecond(result: LoadResult): string {
  return `${round(result.perSecond)}/s`;
}

function round(value: number): string {
  return Math.round(value).toLocaleString("en");
}
