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

/** Short runs of each kind by turns, so that whatever else the machine does falls on all of them. */
const rounds = 5;

/**
 * Claims and acknowledgements over HTTP, one by one and in batches, as ratios to the same client on a server
 * without storage in the same run: the medians over the rounds.
 */
export async function mailboxFigures(size: BenchSize): Promise<Figure[]> {
  const bare = await startProgram("./bareMailbox.ts");
  const nowhere = { port: bare.port, key: `ak_live_${"a".repeat(64)}`, mailboxId: "0".repeat(32) };
  const dataDir = await mkdtemp(join(tmpdir(), "postrider-bench-"));
  try {
    const service = await startService({ dataDir, roles: "api,maintenance" });
    const mailboxId = await service.createTarget({ kind: "mailbox", name: "bench" });
    const place = { port: service.port, key: service.key, mailboxId };
    await fill(service, mailboxId, (size.warmupMs + size.durationMs) * 80);
    await consume(place, { ...size, durationMs: size.warmupMs }, 1);
    await consume(place, { ...size, durationMs: size.warmupMs }, batch);
    const slice = { ...size, warmupMs: 200, durationMs: size.durationMs / rounds };
    const results: Round[] = [];
    for (let round = 0; round < rounds; round++) {
      results.push({
        bare: await consume(nowhere, slice, 1),
        single: await consume(place, slice, 1),
        batched: await consume(place, slice, batch),
      });
    }
    await service.stop();
    return figures(results);
  } finally {
    await bare.stop();
    await rm(dataDir, { recursive: true, force: true });
  }
}

interface Round {
  bare: ConsumerResult;
  single: ConsumerResult;
  batched: ConsumerResult;
}

const leasedMessages = 200_000;
const acknowledgedMessages = 5_000_000;

/** Whether 200,000 leased and 5 million acknowledged messages slow claims down: the same run before and after. */
export async function mailboxStoredFigures(size: BenchSize): Promise<Figure[]> {
  const dataDir = await mkdtemp(join(tmpdir(), "postrider-bench-"));
  try {
    const service = await startService({ dataDir, roles: "api,maintenance" });
    const mailboxId = await service.createTarget({ kind: "mailbox", name: "bench" });
    const place = { port: service.port, key: service.key, mailboxId };
    const run = async (): Promise<ConsumerResult> => {
      await fill(service, mailboxId, (size.warmupMs + size.durationMs) * 12);
      return consume(place, size, 1);
    };
    await run();
    const empty = await run();
    await storeMessages(service, mailboxId);
    const stored = await run();
    await service.stop();
    const ratio = stored.completedPerSecond / empty.completedPerSecond;
    return [
      {
        name: "claim + ack with 200,000 leased, 5 million acknowledged ÷ empty",
        value: `${Math.round(stored.completedPerSecond)} cycles/s after ${Math.round(empty.completedPerSecond)}`,
        ratio,
        goal: "≥ 0.8",
        isMet: ratio >= 0.8,
      },
    ];
  } finally {
    await rm(dataDir, { recursive: true, force: true });
  }
}

/** Copies one item under new ids: as claimed for an hour, and as acknowledged. */
async function storeMessages(service: BenchService, mailboxId: string): Promise<void> {
  const step = 100_000;
  const newIds = `
    select e.bucket, e.target_id as mailbox_id,
      (substr(e.id::text, 1, 14) || '7' || substr(md5(random()::text), 1, 3) || '-8'
        || substr(md5(random()::text), 1, 3) || '-' || substr(md5(random()::text), 1, 10)
        || substr(e.id::text, 35, 2))::uuid as id
    from (select * from events where target_id = '${mailboxId}' order by id limit 1) e
    cross join generate_series(1, ${step})`;
  for (let done = 0; done < leasedMessages; done += step) {
    await service.sql(
      `insert into messages (bucket, state, claim_count, mailbox_id, id, claimable_at, claimed_by, claim_token)
       select bucket, 2, 1, mailbox_id, id, extract(epoch from now()) * 1000 + 3600000, id, id
       from (${newIds}) made
       on conflict do nothing`,
    );
  }
  for (let done = 0; done < acknowledgedMessages; done += step) {
    await service.sql(
      `insert into closed_messages (
         bucket, dead, claim_count, mailbox_id, id, position, closed_at, claimed_by, claim_token
       )
       select bucket, false, 1, mailbox_id, id, 0, extract(epoch from now()) * 1000, id, id
       from (${newIds}) made
       on conflict do nothing`,
    );
  }
  await service.sql("vacuum analyze");
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

function figures(results: Round[]): Figure[] {
  const over = (value: (round: Round) => number): number => median(results.map(value));
  const cycles = over(({ single, bare }) => single.completedPerSecond / bare.completedPerSecond);
  const perRequest = over(({ batched, bare }) => batched.completedPerSecond / (2 * bare.completedPerSecond));
  const p99 = over(({ single }) => single.requests.p99);
  return [
    { name: "bare claim and ack cycles", value: perSecond(over(({ bare }) => bare.completedPerSecond)) },
    {
      name: "claim 1 + ack 1, 64 consumers",
      value: `${perSecond(over(({ single }) => single.completedPerSecond))} cycles`,
      ratio: cycles,
      goal: "≥ 0.3",
      isMet: cycles >= 0.3,
    },
    {
      name: "p99 of its requests",
      value: `${p99.toFixed(1)} ms, p50 ${over(({ single }) => single.requests.p50).toFixed(1)}; bare p99 ${over(({ bare }) => bare.requests.p99).toFixed(1)}`,
      goal: "≤ 20 ms",
      isMet: p99 <= 20,
    },
    {
      name: "claim 50 + ack 50, messages per bare request",
      value: `${perSecond(over(({ batched }) => batched.completedPerSecond))} messages`,
      ratio: perRequest,
      goal: "≥ 0.7",
      isMet: perRequest >= 0.7,
    },
    {
      name: "p99 of its requests",
      value: `${over(({ batched }) => batched.requests.p99).toFixed(1)} ms`,
    },
  ];
}

function median(values: number[]): number {
  return values.toSorted((a, b) => a - b)[values.length >> 1]!;
}

function perSecond(count: number): string {
  return `${Math.round(count).toLocaleString("en")}/s`;
}
