import { type BenchService, startService } from "./benchService.ts";
import { type ConsumerResult, runConsumers } from "./consumers.ts";
import {
  atLeast,
  atMost,
  type BenchSize,
  type Figure,
  median,
  perSecond,
  rounds,
  type Slice,
  sliceOf,
  warmUp,
} from "./figures.ts";
import { startProgram } from "./processes.ts";
import { filledByEmpty, sideBySide } from "./sideBySide.ts";
import { fill, inTemporaryDirectory } from "./workload.ts";

const consumers = 64;
const batch = 50;

/** Where messages are claimed: a service, or the bare server in its place. */
interface Place {
  port: number;
  key: string;
  mailboxId: string;
}

/**
 * Claims and acknowledgements over HTTP, one by one and in batches, as ratios to the same client on a server
 * without storage in the same run: the medians over the rounds.
 */
export async function mailboxFigures(size: BenchSize): Promise<Figure[]> {
  const bare = await startProgram("./bareMailbox.ts");
  const nowhere = { port: bare.port, key: `ak_live_${"a".repeat(64)}`, mailboxId: "0".repeat(32) };
  const results = await inTemporaryDirectory(async (dataDir) => {
    const service = await startService({ dataDir, roles: "api,maintenance" });
    const mailboxId = await service.createTarget({ kind: "mailbox", name: "bench" });
    const place = { port: service.port, key: service.key, mailboxId };
    await fill(service, mailboxId, (size.warmupMs + size.durationMs) * 80);
    const measured: Round[] = [];
    for (let round = 0; round <= rounds; round++) {
      const slice = round === 0 ? warmUp(size) : sliceOf(size);
      const result = {
        bare: await consume(nowhere, slice, 1),
        single: await consume(place, slice, 1),
        batched: await consume(place, slice, batch),
      };
      if (round > 0) measured.push(result);
    }
    await service.stop();
    return measured;
  });
  await bare.stop();
  return figures(results);
}

interface Round {
  bare: ConsumerResult;
  single: ConsumerResult;
  batched: ConsumerResult;
}

const leasedMessages = 200_000;
const acknowledgedMessages = 5_000_000;

/**
 * Whether 200,000 leased and 5 million acknowledged messages slow claims down: two mailboxes of two services, one
 * empty and one filled, used by turns.
 */
export async function mailboxStoredFigures(size: BenchSize): Promise<Figure[]> {
  const measured = await sideBySide({
    start: (dataDir) => startMailbox(dataDir, size),
    fill: ({ service, place }) => storeMessages(service, place.mailboxId),
    measure: async ({ place }) => (await consume(place, sliceOf(size), 1)).completedPerSecond,
  });
  const name = "claim + ack with 200,000 leased, 5 million acknowledged ÷ empty";
  return [filledByEmpty(name, 0.8, measured, "cycles")];
}

interface Mailbox {
  service: BenchService;
  place: Place;
}

async function startMailbox(dataDir: string, size: BenchSize): Promise<Mailbox> {
  const service = await startService({ dataDir, roles: "api,maintenance" });
  const mailboxId = await service.createTarget({ kind: "mailbox", name: "bench" });
  const place = { port: service.port, key: service.key, mailboxId };
  await fill(service, mailboxId, (size.warmupMs + size.durationMs) * 12);
  await consume(place, warmUp(size), 1);
  return { service, place };
}

/** Copies one item under new ids: as claimed for an hour, and as acknowledged. */
async function storeMessages(service: BenchService, mailboxId: string): Promise<void> {
  const step = 100_000;
  const newIds = (from: number): string => `
    select e.bucket, e.target_id as mailbox_id,
      overlay(e.id::text placing lpad(to_hex(${from} + n), 10, '0') from 25 for 10)::uuid as id
    from (select * from events where target_id = '${mailboxId}' order by id limit 1) e
    cross join generate_series(1, ${step}) as n`;
  for (let done = 0; done < leasedMessages; done += step) {
    await service.sql(
      `insert into messages (bucket, state, claim_count, mailbox_id, id, claimable_at, claimed_by, claim_token)
       select bucket, 2, 1, mailbox_id, id, extract(epoch from now()) * 1000 + 3600000, id, id
       from (${newIds(done)}) made`,
    );
  }
  for (let done = 0; done < acknowledgedMessages; done += step) {
    await service.sql(
      `insert into closed_messages (
         bucket, dead, claim_count, mailbox_id, id, position, closed_at, claimed_by, claim_token
       )
       select bucket, false, 1, mailbox_id, id, 0, extract(epoch from now()) * 1000, id, id
       from (${newIds(leasedMessages + done)}) made`,
    );
  }
  await service.sql("vacuum analyze");
}

function consume(place: Place, slice: Slice, perClaim: number): Promise<ConsumerResult> {
  return runConsumers({ ...place, consumers, batch: perClaim, ...slice });
}

function figures(results: Round[]): Figure[] {
  const over = (value: (round: Round) => number): number => median(results.map(value));
  const cycles = over(({ single, bare }) => single.completedPerSecond / bare.completedPerSecond);
  const perRequest = over(({ batched, bare }) => batched.completedPerSecond / (2 * bare.completedPerSecond));
  return [
    { name: "bare claim and ack cycles", value: perSecond(over(({ bare }) => bare.completedPerSecond)) },
    atLeast(
      "claim 1 + ack 1, 64 consumers",
      cycles,
      0.3,
      `${perSecond(over(({ single }) => single.completedPerSecond))} cycles, p50 ${over(({ single }) => single.requests.p50).toFixed(1)} ms`,
    ),
    atMost(
      "p99 of its requests",
      over(({ single }) => single.requests.p99),
      20,
    ),
    { name: "p99 of the bare requests", value: `${over(({ bare }) => bare.requests.p99).toFixed(1)} ms` },
    atLeast(
      "claim 50 + ack 50, messages per bare request",
      perRequest,
      0.7,
      `${perSecond(over(({ batched }) => batched.completedPerSecond))} messages, p99 ${over(({ batched }) => batched.requests.p99).toFixed(1)} ms`,
    ),
  ];
}
