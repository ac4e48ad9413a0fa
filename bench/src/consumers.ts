import { openExchange } from "./exchange.ts";
import { type LoadResult, postBytes, summarize } from "./load.ts";
import { createRefusals } from "./refusals.ts";

export interface ConsumerResult {
  /** Claims and acknowledgements together. */
  requests: LoadResult;
  claims: LoadResult;
  acknowledgements: LoadResult;
  /** Messages claimed and acknowledged. */
  completed: number;
  completedPerSecond: number;
}

export interface ConsumerOptions {
  port: number;
  key: string;
  mailboxId: string;
  consumers: number;
  /** Messages per claim; with 1, each message is acknowledged with the route for a single message. */
  batch: number;
  durationMs: number;
  warmupMs: number;
}

interface Claimed {
  id: string;
  claim_token: string;
}

/**
 * Runs consumers that claim and acknowledge in a closed loop, each on a connection of its own.
 * @throws if a request was refused or lost.
 */
export async function runConsumers(options: ConsumerOptions): Promise<ConsumerResult> {
  const countFrom = performance.now() + options.warmupMs;
  const endAt = countFrom + options.durationMs;
  const claimMs: number[] = [];
  const ackMs: number[] = [];
  let completed = 0;
  let sent = 0;
  const refusals = createRefusals();

  async function timed(connection: Connection, bytes: Buffer, latencies: number[]): Promise<Answer> {
    sent++;
    const sentAt = performance.now();
    const answer = await connection.exchange(bytes);
    const now = performance.now();
    if (answer.status !== 200) refusals.add(answer.status, answer.body);
    else if (now >= countFrom && now < endAt) latencies.push(now - sentAt);
    return answer;
  }

  async function consume(): Promise<void> {
    const connection = await connect(options.port);
    const authorization = [`authorization: Bearer ${options.key}`];
    const claim = postBytes(
      `/api/v1/mailboxes/${options.mailboxId}/claim`,
      authorization,
      JSON.stringify({ max: options.batch }),
    );
    while (performance.now() < endAt) {
      const claimed = await timed(connection, claim, claimMs);
      if (claimed.status === 0) break;
      // An error answer has no `messages`.
      const { messages = [] } = JSON.parse(claimed.body) as { messages?: Claimed[] };
      if (messages.length === 0) continue;
      const { status } = await timed(connection, acknowledgement(options, authorization, messages), ackMs);
      const now = performance.now();
      if (status === 200 && now >= countFrom && now < endAt) completed += messages.length;
    }
    connection.close();
  }

  await Promise.all(Array.from({ length: options.consumers }, consume));
  refusals.check(sent);
  const seconds = options.durationMs / 1000;
  return {
    requests: summarize([...claimMs, ...ackMs], 0, seconds),
    claims: summarize(claimMs, 0, seconds),
    acknowledgements: summarize(ackMs, 0, seconds),
    completed,
    completedPerSecond: completed / seconds,
  };
}

function acknowledgement(options: ConsumerOptions, authorization: string[], messages: Claimed[]): Buffer {
  if (options.batch === 1) {
    const [{ id, claim_token }] = messages as [Claimed];
    return postBytes(`/api/v1/mailbox-messages/${id}/ack`, authorization, `{"claim_token":"${claim_token}"}`);
  }
  const claims = messages.map(({ id, claim_token }) => ({ id, claim_token }));
  const path = `/api/v1/mailboxes/${options.mailboxId}/ack`;
  return postBytes(path, authorization, JSON.stringify({ messages: claims }));
}

/** An answer; its status is 0 if the connection was lost. */
interface Answer {
  status: number;
  body: string;
}

interface Connection {
  exchange(request: Buffer): Promise<Answer>;
  close(): void;
}

async function connect(port: number): Promise<Connection> {
  let settle: ((answer: Answer) => void) | undefined;
  let isLost = false;
  const exchange = await openExchange({
    host: "127.0.0.1",
    port,
    onAnswer: (status, body) => settle?.({ status, body: body.toString("utf8") }),
    onClose() {
      isLost = true;
      settle?.({ status: 0, body: "" });
    },
  });
  return {
    exchange: (request) =>
      new Promise((resolve) => {
        settle = resolve;
        if (isLost) resolve({ status: 0, body: "" });
        else exchange.send(request);
      }),
    close: () => exchange.close(),
  };
}
