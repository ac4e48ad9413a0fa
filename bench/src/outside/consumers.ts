import { type Exchange, openExchange } from "../exchange.ts";
import { postBytes, summarize } from "../load.ts";
import { createNumberSet } from "../numberSet.ts";
import { createTenths } from "../tenths.ts";
import { createIdFinder } from "./eventId.ts";
import { addressOf, clock } from "./lane.ts";

export interface ConsumersOptions {
  /** The producers' run: the messages contain ids of its events. */
  run: string;
  baseUrl: string;
  mailboxId: string;
  headers: readonly string[];
  consumers: number;
}

/** Counts of the consumers' work since the start. */
export interface Consumed {
  /** Messages acknowledged, each counted once. */
  acknowledged: number;
  /** Acknowledgements of a message that was acknowledged before. */
  doubled: number;
  /** Answers other than 200, and lost connections. */
  failed: number;
  /** Accepted events that were not acknowledged. */
  missing: number;
  acknowledgedByTenth: number[];
  /** Milliseconds from the put to the answer of the acknowledgement, of messages acknowledged within the phase. */
  p50: number;
  p99: number;
}

export interface Consumers {
  /**
   * Empties the mailbox with at least {@link finishers} consumers. Each ends when a claim finds nothing, or when no message was
   * acknowledged for `patienceMs`. `startedAtMs` and `endedAtMs` are the beginning and the end of the phase.
   */
  finish(phase: {
    startedAtMs: number;
    endedAtMs: number;
    accepted: Uint8Array;
    patienceMs: number;
  }): Promise<Consumed>;
}

/** Consumers that empty the mailbox at the end, because one alone would take minutes for a large backlog. */
const finishers = 32;

/** Starts consumers, each of which claims one message and acknowledges it, in a closed loop on a connection of its own. */
export function startConsumers(options: ConsumersOptions): Consumers {
  const find = createIdFinder(options.run);
  const { host, port, isSecure } = addressOf(options.baseUrl);
  const seen = createNumberSet();
  const acknowledgements: { atMs: number; tookMs: number }[] = [];
  const tally = { doubled: 0, failed: 0 };
  let isFinishing = false;
  let patienceMs = Infinity;
  let acknowledgedAtMs = clock();
  const claim = postBytes(
    `/api/v1/mailboxes/${options.mailboxId}/claim`,
    [...options.headers],
    '{"max":1,"wait_seconds":1}',
  );

  async function consume(): Promise<void> {
    const calls = await openCalls({ host, port, isSecure });
    while (clock() - acknowledgedAtMs < patienceMs) {
      const claimed = await calls.send(claim);
      const event = find(claimed.body);
      if (claimed.status !== 200) tally.failed++;
      if (claimed.status === 0) break;
      if (event === undefined) {
        if (isFinishing) break;
        continue;
      }
      const { status } = await calls.send(acknowledgement(claimed.body, options.headers));
      if (status !== 200) tally.failed++;
      else if (seen.add(event.number)) {
        const now = clock();
        acknowledgedAtMs = now;
        acknowledgements.push({ atMs: now, tookMs: now - event.sentAtMs });
      } else tally.doubled++;
    }
    calls.close();
  }

  const all = Array.from({ length: options.consumers }, consume);
  return {
    async finish({ startedAtMs, endedAtMs, accepted, ...phase }) {
      isFinishing = true;
      patienceMs = phase.patienceMs;
      acknowledgedAtMs = clock();
      while (all.length < finishers) all.push(consume());
      await Promise.all(all);
      const tenths = createTenths(startedAtMs);
      for (const { atMs } of acknowledgements) tenths.count(atMs);
      const counted = acknowledgements.filter(({ atMs }) => atMs <= endedAtMs);
      const { p50, p99 } = summarize(
        counted.map(({ tookMs }) => tookMs),
        0,
        1,
      );
      const missing = [...createNumberSet(accepted).values()].filter((number) => !seen.has(number)).length;
      const acknowledged = acknowledgements.length;
      return { ...tally, acknowledged, missing, acknowledgedByTenth: tenths.counts, p50, p99 };
    },
  };
}

const idPattern = /"id":"([^"]+)"/;
const tokenPattern = /"claim_token":"([^"]+)"/;

function acknowledgement(claimed: string, headers: readonly string[]): Buffer {
  const id = idPattern.exec(claimed)?.[1] ?? "";
  const token = tokenPattern.exec(claimed)?.[1] ?? "";
  return postBytes(`/api/v1/mailbox-messages/${id}/ack`, [...headers], `{"claim_token":"${token}"}`);
}

interface Answer {
  status: number;
  body: string;
}

async function openCalls(address: { host: string; port: number; isSecure: boolean }) {
  let settle: ((answer: Answer) => void) | undefined;
  let isLost = false;
  const exchange: Exchange = await openExchange({
    ...address,
    onAnswer: (status, body) => settle?.({ status, body: body.toString("utf8") }),
    onClose() {
      isLost = true;
      settle?.({ status: 0, body: "" });
    },
  });
  return {
    send: (request: Buffer): Promise<Answer> =>
      new Promise((resolve) => {
        settle = resolve;
        if (isLost) resolve({ status: 0, body: "" });
        else exchange.send(request);
      }),
    close: () => exchange.close(),
  };
}
