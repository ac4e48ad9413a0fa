import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type ConsumerResult, runConsumers } from "./consumers.ts";
import { postBytes, runLoad } from "./load.ts";
import { startProgram } from "./processes.ts";
import type { BenchSize, Figure } from "./scenarios.ts";
import { type BenchService, startService } from "./benchService.ts";

const consumers = 64;
const batch = 50;
const itemBody = JSON.stringify({ event_type: "order.created", data: "x".repeat(440) });

/** Where messages are claimed: a service, or the bare server in its place. */
interface Place {
  port: number;
  key: string;
  mailboxId: string;
}

/**
 * Claims and acknowledgements over HTTP, one by one and in batches, as ratios to the same client on a server
 * without storage in the same run.
 */
export async function mailboxFigures(size: BenchSize): Promise<Figure[]> {
  const bare = await startProgram("./bareMailbox.ts");
  const nowhere = { port: bare.port, key: `ak_live_${"a".repeat(64)}`, mailboxId: "0".repeat(32) };
  const dataDir = await mkdtemp(join(tmpdir(), "postrider-bench-"));
  try {
    const before = await consume(nowhere, size, 1);
    const service = await startService({ dataDir, roles: "api,maintenance" });
    const mailboxId = await service.createTarget({ kind: "mailbox", name: "bench" });
    const place = { port: service.port, key: service.key, mailboxId };
    await fill(service, mailboxId, (size.warmupMs + size.durationMs) * 12);
    const single = await consume(place, size, 1);
    await fill(service, mailboxId, (size.warmupMs + size.durationMs) * 50);
    const batched = await consume(place, size, batch);
    await service.stop();
    const after = await consume(nowhere, size, 1);
    const bareCycles = (before.completedPerSecond + after.completedPerSecond) / 2;
    return figures(bareCycles, single, batched);
  } finally {
    await bare.stop();
    await rm(dataDir, { recursive: true, force: true });
  }
}

function consume(place: Place, size: BenchSize, perClaim: number): Promise<ConsumerResult> {
  const { warmupMs, durationMs } = size;
  return runConsumers({ ...place, consumers, batch: perClaim, warmupMs, durationMs });
}

/** Puts at least `count` messages into a mailbox. */
async function fill(service: BenchService, mailboxId: string, count: number): Promise<void> {
  const bytes = postBytes(`/t/${mailboxId}`, [`authorization: Bearer ${service.key}`], itemBody);
  await runLoad({
    host: "127.0.0.1",
    port: service.port,
    connections: 64,
    durationMs: 600_000,
    requests: count,
    request: () => bytes,
    expect: 202,
  });
}

function figures(bareCycles: number, single: ConsumerResult, batched: ConsumerResult): Figure[] {
  const cycles = single.completedPerSecond / bareCycles;
  const perRequest = batched.completedPerSecond / (2 * bareCycles);
  const p99 = single.requests.p99;
  return [
    { name: "bare claim and ack cycles", value: `${Math.round(bareCycles)}/s` },
    {
      name: "claim 1 + ack 1, 64 consumers",
      value: `${Math.round(single.completedPerSecond)} cycles/s`,
      ratio: cycles,
      goal: "0.30 of bare cycles",
      isMet: cycles >= 0.3,
    },
    {
      name: "its p50, p99, max",
      value: `${single.requests.p50.toFixed(1)}, ${p99.toFixed(1)}, ${single.requests.max.toFixed(0)} ms`,
      goal: "p99 under 20 ms",
      isMet: p99 < 20,
    },
    {
      name: "claim 50 + ack 50",
      value: `${Math.round(batched.completedPerSecond)} messages/s`,
      ratio: perRequest,
      goal: "0.7 per bare request",
      isMet: perRequest >= 0.7,
    },
    {
      name: "its p50, p99, max",
      value: `${batched.requests.p50.toFixed(1)}, ${batched.requests.p99.toFixed(1)}, ${batched.requests.max.toFixed(0)} ms`,
    },
  ];
}
