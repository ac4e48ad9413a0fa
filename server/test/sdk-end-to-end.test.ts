import { createServer, type IncomingHttpHeaders, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { z } from "zod";
import { type Client, createClient } from "../../sdk/src/client.ts";
import { consumeMailbox, RejectMessage } from "../../sdk/src/consumeMailbox.ts";
import { verifyWebhook } from "../../sdk/src/verifyWebhook.ts";
import { sharedStartedNode } from "./support/sharedServices.ts";
import { newEmail } from "./support/testNode.ts";

let shared: Awaited<ReturnType<typeof sharedStartedNode>>;
let baseUrl: string;
let receiver: Server;
let receiverUrl: string;
const deliveries: { headers: IncomingHttpHeaders; body: Buffer }[] = [];

beforeAll(async () => {
  shared = await sharedStartedNode();
  baseUrl = shared.url;
  receiver = createServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on("data", (chunk: Buffer) => chunks.push(chunk));
    request.on("end", () => {
      deliveries.push({ headers: request.headers, body: Buffer.concat(chunks) });
      response.writeHead(204).end();
    });
  });
  await new Promise<void>((resolve) => receiver.listen(0, "127.0.0.1", resolve));
  receiverUrl = `http://127.0.0.1:${(receiver.address() as AddressInfo).port}/hooks`;
});

afterAll(async () => {
  receiver.closeAllConnections();
  await new Promise((resolve) => receiver.close(resolve));
  await shared.leave();
});

/** Clients of a new account: one with its API key, one with its session. */
async function newClients(): Promise<{ key: string | undefined; client: Client; owner: Client }> {
  const nobody = createClient({ baseUrl });
  const account = await nobody.signUp({ email: newEmail(), password: "correct horse battery" });
  if (!("user" in account)) throw new Error(account.message);
  return {
    key: account.api_key,
    client: createClient({ baseUrl, apiKey: account.api_key }),
    owner: createClient({ baseUrl, sessionToken: account.session_token }),
  };
}

describe("through the client alone", () => {
  it("an item reaches its receiver, signed, and its attempts can be read", async () => {
    const { client } = await newClients();
    const target = await client.createTarget({ kind: "webhook", name: "receiver", url: receiverUrl });
    const item = { event_type: "order.created", order: 1001 };
    const { id, status } = await client.sendItem(target.id, item, { correlationId: "checkout-7" });
    expect(status).toBe("QUEUED");
    await expect.poll(() => deliveries.map(({ headers }) => headers["webhook-id"])).toContain(id);
    const { headers, body } = deliveries.find((one) => one.headers["webhook-id"] === id)!;
    expect(await verifyWebhook(target.secret!, headers, body)).toMatchObject({ id, payload: item });
    await expect.poll(async () => (await client.readEvent(id)).event.status).toBe("DELIVERED");
    const found = await Array.fromAsync(client.allEvents({ correlation_id: "checkout-7" }));
    expect(found).toMatchObject([{ id, status: "DELIVERED", event_type: "order.created" }]);
    expect(await client.replayEvent(id)).toMatchObject({ source_event_id: id });
    expect((await client.readUsage()).usage.accepted_events).toBe(1);
  });

  it("many events are replayed, a waiting one is canceled, and a target is tested", async () => {
    const { client } = await newClients();
    const target = await client.createTarget({ kind: "webhook", name: "receiver", url: receiverUrl });
    const sent = await Promise.all([1, 2, 3].map((n) => client.sendItem(target.id, { n })));
    for (const { id } of sent) {
      await expect.poll(async () => (await client.readEvent(id)).event.status).toBe("DELIVERED");
    }
    const filter = { target_id: target.id, status: "DELIVERED" } as const;
    expect(await client.countMatching(filter)).toMatchObject({ count: 3, count_is_exact: true });
    const { id } = await client.replayMatching(filter, { ratePerSecond: 500 });
    await expect.poll(async () => (await client.readReplay(id)).delivered).toBe(3);
    expect(await Array.fromAsync(client.allEvents({ replay_id: id }))).toHaveLength(3);
    expect(await Array.fromAsync(client.allReplays())).toMatchObject([{ id, status: "DONE", total: 3 }]);

    await client.updateTarget(target.id, { enabled: false });
    const held = await client.sendItem(target.id, { n: 4 });
    expect(await client.cancelEvent(held.id)).toEqual({ id: held.id, status: "CANCELED" });
    await expect(client.cancelEvent(held.id)).rejects.toMatchObject({ status: 409, code: "event_ended" });
    expect(await client.testTarget(target.id, null)).toMatchObject({ delivered: true });
  });

  it("a repeated item is one item", async () => {
    const { client } = await newClients();
    const { id: mailbox } = await client.createTarget({ kind: "mailbox", name: "jobs" });
    const first = await client.sendItem(mailbox, { job: 1 }, { idempotencyKey: "job-1" });
    const again = await client.sendItem(mailbox, { job: 1 }, { idempotencyKey: "job-1" });
    expect(again.id).toBe(first.id);
    await expect(client.sendItem(mailbox, { job: 2 }, { idempotencyKey: "job-1" })).rejects.toMatchObject({
      status: 409,
      requestId: expect.any(String),
    });
    expect(await Array.fromAsync(client.allMessages(mailbox))).toHaveLength(1);
  });

  it("keys and organization are managed with a session", async () => {
    const { client, owner } = await newClients();
    const { key, id } = await owner.createKey({ name: "worker" });
    expect((await createClient({ baseUrl, apiKey: key }).listKeys()).keys).toHaveLength(2);
    await expect(client.createKey({ name: "no" })).rejects.toMatchObject({ status: 403 });
    await client.deleteKey(id);
    await expect(createClient({ baseUrl, apiKey: key }).readMe()).rejects.toMatchObject({ status: 401 });
    await owner.renameOrganization({ name: "Workshop" });
    expect((await client.readOrganization()).org.name).toBe("Workshop");
  });
});

describe("a mailbox's consumer", () => {
  it("handles each message once, several at a time, and acknowledges it", async () => {
    const { client } = await newClients();
    const { id: mailbox } = await client.createTarget({ kind: "mailbox", name: "jobs" });
    const handled: unknown[] = [];
    let atOnce = 0;
    let mostAtOnce = 0;
    const consumer = consumeMailbox(
      client,
      mailbox,
      async ({ payload }) => {
        mostAtOnce = Math.max(mostAtOnce, ++atOnce);
        await new Promise((resolve) => setImmediate(resolve));
        atOnce--;
        handled.push(payload);
      },
      { concurrency: 4, waitSeconds: 5 },
    );
    await Promise.all(Array.from({ length: 25 }, (_, job) => client.sendItem(mailbox, job)));
    await expect.poll(() => handled.length).toBe(25);
    await consumer.stop();
    expect(handled.map(Number).sort((a, b) => a - b)).toEqual(Array.from({ length: 25 }, (_, job) => job));
    expect(mostAtOnce).toBeLessThanOrEqual(4);
    const stats = await client.readMailboxStats(mailbox);
    expect(stats).toMatchObject({ ready: 0, claimed: 0, dead: 0 });
  });

  it("releases a message when its handler fails, and makes it dead when it is rejected", async () => {
    const { client } = await newClients();
    const { id: mailbox } = await client.createTarget({ kind: "mailbox", name: "jobs" });
    const errors: string[] = [];
    const claims: number[] = [];
    const consumer = consumeMailbox(
      client,
      mailbox,
      ({ payload, claim_count: count }) => {
        if (payload === "bad") throw new RejectMessage("not a job");
        claims.push(count);
        if (count === 1) throw new Error("not today");
      },
      {
        waitSeconds: 5,
        retryDelaySeconds: () => 0,
        onError: (error) => errors.push((error as Error).message),
      },
    );
    await client.sendItem(mailbox, "good");
    await client.sendItem(mailbox, "bad");
    await expect.poll(async () => (await client.readMailboxStats(mailbox)).dead).toBe(1);
    await expect.poll(() => claims).toEqual([1, 2]);
    await consumer.stop();
    expect(errors.sort()).toEqual(["not a job", "not today"]);
    const dead = await Array.fromAsync(client.allMessages(mailbox, { status: "DEAD" }));
    expect(dead).toMatchObject([{ dead_reason: "not a job" }]);
  });

  it("extends a claim while the handler works", async () => {
    const { client } = await newClients();
    const { id: mailbox } = await client.createTarget({ kind: "mailbox", name: "jobs" });
    const { id } = await client.sendItem(mailbox, "long");
    let finish = (): void => undefined;
    const work = new Promise<void>((resolve) => (finish = resolve));
    const consumer = consumeMailbox(client, mailbox, () => work, { leaseSeconds: 5, waitSeconds: 1 });
    const expiry = async (): Promise<number> => (await client.readMessage(id)).claim_expires_at ?? 0;
    await expect.poll(expiry).toBeGreaterThan(0);
    const first = await expiry();
    await expect.poll(expiry).toBeGreaterThan(first);
    finish();
    await consumer.stop();
    expect((await client.readMessage(id)).status).toBe("ACKNOWLEDGED");
  });

  it("extends all messages of one claim, counts each of them as running, and waits for all when it stops", async () => {
    const { client } = await newClients();
    const { id: mailbox } = await client.createTarget({ kind: "mailbox", name: "jobs" });
    const send = async (job: string): Promise<string> => (await client.sendItem(mailbox, job)).id;
    const long = [await send("long"), await send("long")];
    await send("short");
    let running = 0;
    let mostAtOnce = 0;
    let finish = (): void => undefined;
    const work = new Promise<void>((resolve) => (finish = resolve));
    const consumer = consumeMailbox(
      client,
      mailbox,
      async ({ payload }) => {
        mostAtOnce = Math.max(mostAtOnce, ++running);
        if (payload !== "short") await work;
        running--;
      },
      { concurrency: 3, leaseSeconds: 5, waitSeconds: 1 },
    );
    const expiries = (): Promise<number[]> =>
      Promise.all(long.map(async (id) => (await client.readMessage(id)).claim_expires_at ?? 0));
    await expect.poll(async () => Math.min(...(await expiries()))).toBeGreaterThan(0);
    const first = Math.max(...(await expiries()));
    for (let job = 0; job < 3; job++) await send("more");
    await expect.poll(async () => Math.min(...(await expiries()))).toBeGreaterThan(first);
    expect(mostAtOnce).toBe(3);
    const stopped = consumer.stop();
    finish();
    await stopped;
    const read = await Promise.all(long.map((id) => client.readMessage(id)));
    expect(read).toMatchObject(long.map((id) => ({ id, status: "ACKNOWLEDGED", claim_count: 1 })));
  });

  it("tells a handler that its claim was lost, and does not acknowledge the message", async () => {
    const { client } = await newClients();
    const { id: mailbox } = await client.createTarget({ kind: "mailbox", name: "jobs" });
    const { id } = await client.sendItem(mailbox, "taken away");
    let wasTold = false;
    const consumer = consumeMailbox(
      client,
      mailbox,
      async (message, { signal }) => {
        if (message.claim_count > 1) return;
        await client.releaseMessages(mailbox, { messages: [message], delay_seconds: 3600 });
        await new Promise((resolve) => signal.addEventListener("abort", resolve));
        wasTold = true;
      },
      { leaseSeconds: 5, waitSeconds: 1 },
    );
    await expect.poll(() => wasTold).toBe(true);
    await consumer.stop();
    expect((await client.readMessage(id)).status).toBe("UNREAD");
  });

  it("tells a handler that its claim lapsed because it could not be extended", async () => {
    const { client, key } = await newClients();
    const { id: mailbox } = await client.createTarget({ kind: "mailbox", name: "jobs" });
    await client.sendItem(mailbox, "cut off");
    const cutOff = createClient({ baseUrl: "http://127.0.0.1:9", apiKey: key!, maxAttempts: 2 });
    let reason: unknown;
    const consumer = consumeMailbox(
      { ...client, extendClaims: (...inputs) => cutOff.extendClaims(...inputs) },
      mailbox,
      async (_message, { signal }) => {
        await new Promise((resolve) => signal.addEventListener("abort", resolve));
        reason = signal.reason;
      },
      { leaseSeconds: 5, waitSeconds: 1 },
    );
    await expect.poll(() => reason).toMatchObject({ message: expect.stringMatching(/ran out/) });
    await consumer.stop();
  });

  it("finishes a message that it has again while a handler of its lost claim still works", async () => {
    const { client } = await newClients();
    const { id: mailbox } = await client.createTarget({ kind: "mailbox", name: "jobs" });
    const { id } = await client.sendItem(mailbox, "twice");
    const finish: (() => void)[] = [];
    const errors: unknown[] = [];
    const consumer = consumeMailbox(
      client,
      mailbox,
      async (message) => {
        if (message.claim_count === 1) await client.releaseMessages(mailbox, { messages: [message] });
        await new Promise<void>((resolve) => finish.push(resolve));
      },
      { concurrency: 2, waitSeconds: 5, onError: (error) => errors.push(error) },
    );
    await expect.poll(() => finish.length).toBe(2);
    finish[0]!();
    await expect.poll(() => errors).toMatchObject([{ message: expect.stringMatching(/claim was lost/) }]);
    setTimeout(finish[1]!, 500);
    await consumer.stop();
    expect((await client.readMessage(id)).status).toBe("ACKNOWLEDGED");
  });

  it("does not ask an empty mailbox without a pause where it is not to wait", async () => {
    const { client } = await newClients();
    const { id: mailbox } = await client.createTarget({ kind: "mailbox", name: "jobs" });
    let claims = 0;
    const counting: typeof client.claimMessages = (...inputs) => {
      claims++;
      return client.claimMessages(...inputs);
    };
    const consumer = consumeMailbox({ ...client, claimMessages: counting }, mailbox, () => undefined, {
      waitSeconds: 0,
    });
    const others = 100;
    for (let n = 0; n < others; n++) await client.readMailboxStats(mailbox);
    expect(claims).toBeLessThan(others / 2);
    await consumer.stop();
  });

  it("refuses a concurrency with which it would never claim anything", async () => {
    const { client } = await newClients();
    for (const concurrency of [0, Number.NaN])
      expect(() => consumeMailbox(client, "0".repeat(32), () => undefined, { concurrency })).toThrow(
        "concurrency must be at least 1",
      );
  });

  it("leaves no message claimed when it stops while it waits", async () => {
    const { client } = await newClients();
    const { id: mailbox } = await client.createTarget({ kind: "mailbox", name: "jobs" });
    const handled: string[] = [];
    for (let round = 0; round < 10; round++) {
      const consumer = consumeMailbox(client, mailbox, ({ id }) => void handled.push(id));
      const sent = client.sendItem(mailbox, round);
      await consumer.stop();
      await sent;
      expect((await client.readMailboxStats(mailbox)).claimed).toBe(0);
    }
    const { ready } = await client.readMailboxStats(mailbox);
    expect(ready + new Set(handled).size).toBe(10);
  });

  it("passes on messages that match its schema, and makes the others dead with the reason", async () => {
    const { client } = await newClients();
    const { id: mailbox } = await client.createTarget({ kind: "mailbox", name: "jobs" });
    const stopping = new AbortController();
    const jobs: number[] = [];
    const { finished } = consumeMailbox(
      client,
      mailbox,
      ({ payload }) => {
        jobs.push(payload.job + 1);
        stopping.abort();
      },
      { schema: z.object({ job: z.number() }), signal: stopping.signal },
    );
    await client.sendItem(mailbox, { job: "one" });
    await client.sendItem(mailbox, { job: 2 });
    await finished;
    expect(jobs).toEqual([3]);
    expect(await client.readMailboxStats(mailbox)).toMatchObject({ ready: 0, claimed: 0, dead: 1 });
    const [dead] = await Array.fromAsync(client.allMessages(mailbox, { status: "DEAD" }));
    expect(dead!.dead_reason).toContain("does not fit its schema: job: ");
  });

  it("ends with the refusal when its key is deleted", async () => {
    const { client, owner } = await newClients();
    const { id: mailbox } = await client.createTarget({ kind: "mailbox", name: "jobs" });
    const { id, key } = await owner.createKey({ name: "worker" });
    const worker = createClient({ baseUrl, apiKey: key });
    const consumer = consumeMailbox(worker, mailbox, () => undefined, { waitSeconds: 1 });
    await owner.deleteKey(id);
    await expect(consumer.finished).rejects.toMatchObject({ status: 401 });
  });
});
