import net from "node:net";
import { type LoadResult, postBytes, summarize } from "./load.ts";

/** What a run of consumers did. */
export interface ConsumerResult {
  /** Every request, claims and acknowledgements alike. */
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
  /** Messages per claim; with 1, each is acknowledged by the route of single messages. */
  batch: number;
  durationMs: number;
  warmupMs: number;
}

interface Claimed {
  id: string;
  claim_token: string;
}

/** Consumers that claim and acknowledge as fast as the answers come, each on a connection of its own. */
export async function runConsumers(options: ConsumerOptions): Promise<ConsumerResult> {
  const countFrom = performance.now() + options.warmupMs;
  const endAt = countFrom + options.durationMs;
  const claimMs: number[] = [];
  const ackMs: number[] = [];
  let completed = 0;
  let errors = 0;

  async function timed(connection: Connection, bytes: Buffer, latencies: number[]): Promise<string> {
    const sentAt = performance.now();
    const answer = await connection.exchange(bytes);
    const now = performance.now();
    if (answer.status !== 200) errors++;
    else if (now >= countFrom && now < endAt) latencies.push(now - sentAt);
    return answer.body;
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
      const { messages } = JSON.parse(await timed(connection, claim, claimMs)) as { messages: Claimed[] };
      if (messages.length === 0) continue;
      await timed(connection, acknowledgement(options, authorization, messages), ackMs);
      const now = performance.now();
      if (now >= countFrom && now < endAt) completed += messages.length;
    }
    connection.close();
  }

  await Promise.all(Array.from({ length: options.consumers }, consume));
  const seconds = options.durationMs / 1000;
  return {
    requests: summarize([...claimMs, ...ackMs], errors, seconds),
    claims: summarize(claimMs, errors, seconds),
    acknowledgements: summarize(ackMs, errors, seconds),
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

interface Connection {
  exchange(request: Buffer): Promise<{ status: number; body: string }>;
  close(): void;
}

const headerEnd = Buffer.from("\r\n\r\n");

async function connect(port: number): Promise<Connection> {
  const socket = net.connect({ host: "127.0.0.1", port, noDelay: true });
  await new Promise((resolve, reject) => socket.once("connect", resolve).once("error", reject));
  let settle: ((answer: { status: number; body: string }) => void) | undefined;
  let parts: Buffer[] = [];
  let size = 0;
  let wanted = 0;
  let bodyAt = 0;
  socket.on("data", (chunk: Buffer) => {
    parts.push(chunk);
    size += chunk.length;
    if (wanted === 0) {
      const start = parts.length === 1 ? chunk : Buffer.concat(parts);
      const end = start.indexOf(headerEnd);
      if (end < 0) return;
      const length = /\r\ncontent-length: (\d+)/i.exec(start.toString("latin1", 0, end));
      bodyAt = end + 4;
      wanted = bodyAt + Number(length?.[1] ?? 0);
    }
    if (size < wanted) return;
    const whole = parts.length === 1 ? chunk : Buffer.concat(parts);
    parts = [];
    size = 0;
    wanted = 0;
    settle?.({ status: Number(whole.toString("latin1", 9, 12)), body: whole.toString("utf8", bodyAt) });
  });
  socket.on("close", () => settle?.({ status: 0, body: '{"messages":[]}' }));
  socket.on("error", () => undefined);
  return {
    exchange: (request) =>
      new Promise((resolve) => {
        settle = resolve;
        socket.write(request);
      }),
    close: () => socket.destroy(),
  };
}
