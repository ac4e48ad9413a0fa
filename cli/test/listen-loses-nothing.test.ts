import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest";
import { createTestDatabase, type TestDatabase } from "../../server/test/support/database.ts";
import { freePort } from "../../server/test/support/freePort.ts";
import { answerOk, isSignedWith, type Receiver, startReceiver } from "../../server/test/support/receiver.ts";
import { type ServiceProcess, startService } from "../../server/test/support/serviceProcess.ts";
import { type Account, signUp } from "../../server/test/support/testNode.ts";
import { until } from "../../server/test/support/until.ts";
import type { Program } from "../../server/test/support/program.ts";
import { createClient } from "../../sdk/src/client.ts";
import { followItems } from "../src/commands/followItems.ts";
import { run, start } from "./support/command.ts";

const secret = `whsec_${Buffer.alloc(24, 5).toString("base64")}`;
let database: TestDatabase;
let service: ServiceProcess;
let account: Account;
let listener: Program | undefined;
let receiver: Receiver | undefined;

beforeAll(async () => {
  database = await createTestDatabase();
  // A fixed port, so that the service restarts at the same address.
  const PORT = String(await freePort());
  service = await startService({ storage: { databaseUrl: database.url }, env: { PORT } });
  account = await signUp(service);
});

afterEach(async () => {
  listener?.kill("SIGKILL");
  await listener?.ended;
  await receiver?.stop();
});

afterAll(async () => {
  await service.stop();
  await database.drop();
});

const env = (): Record<string, string> => ({
  POSTRIDER_URL: service.url,
  POSTRIDER_KEY: account.api_key,
  POSTRIDER_LISTEN_SECRET: secret,
});

async function createMailbox(name: string): Promise<string> {
  const { json } = await run(["target", "create", "mailbox", "--name", name, "--json"], { env: env() });
  return json()[0].id as string;
}

async function send(mailbox: string, body: string, eventType = "note"): Promise<string> {
  const { json } = await run(["send", mailbox, "-", "--event-type", eventType, "--json"], {
    env: env(),
    input: body,
  });
  return json()[0].id as string;
}

async function listen(mailbox: string, url: string, ...more: string[]): Promise<Program> {
  listener = start(["listen", mailbox, "--forward-to", url, ...more], env());
  await listener.says(/forwarding .* to/);
  return listener;
}

async function stats(mailbox: string): Promise<Record<string, number>> {
  return (await run(["mailbox", "stats", mailbox, "--json"], { env: env() })).json()[0] as Record<
    string,
    number
  >;
}

const isDone = ({ ready, claimed, delayed }: Record<string, number>): boolean =>
  ready === 0 && claimed === 0 && delayed === 0;

describe("postrider listen", () => {
  it("posts messages like deliveries to webhooks, acknowledges after 2xx, and prints a line for each", async () => {
    receiver = await startReceiver();
    const mailbox = await createMailbox("shown");
    const body = '{"n": 12345678901234567890, "text": "ü"}';
    const id = await send(mailbox, body, "order.created");
    await listen(mailbox, `${receiver.url}/hook`);
    const [received] = await receiver.arrivals(1, { path: "/hook" });
    expect([received!.id, received!.body.toString()]).toEqual([id, body]);
    expect(received!.headers).toMatchObject({
      "x-event-type": "order.created",
      "content-type": "application/json",
    });
    expect(isSignedWith(secret, received!)).toBe(true);
    await listener!.says(new RegExp(`${id}  order.created  200  \\d+ ms\n`));
    await until(() => stats(mailbox), isDone);
  });

  it("releases a message after an answer other than 2xx, and posts it again later", async () => {
    let answers = 0;
    receiver = await startReceiver((_received, response) => {
      response.writeHead(answers++ === 0 ? 500 : 204).end();
    });
    const mailbox = await createMailbox("again");
    await listen(mailbox, receiver.url);
    await send(mailbox, "{}");
    const [first, second] = await receiver.arrivals(2);
    expect(second!.id).toBe(first!.id);
    expect(second!.atMs - first!.atMs).toBeGreaterThan(1_900);
    await until(() => stats(mailbox), isDone);
  });

  it("waits for a local server that is down", async () => {
    const port = await freePort();
    const mailbox = await createMailbox("down");
    const id = await send(mailbox, "{}");
    await listen(mailbox, `http://127.0.0.1:${port}`);
    await listener!.says(new RegExp(`${id}  note  .*ECONNREFUSED`));
    receiver = await startReceiver(answerOk, port);
    const [received] = await receiver.arrivals(1);
    expect(received!.id).toBe(id);
    await until(() => stats(mailbox), isDone);
  });

  it("extends the claim while the local server works on the message", async () => {
    let finish: (() => void) | undefined;
    receiver = await startReceiver((_received, response) => {
      finish = () => void response.writeHead(200).end();
    });
    const mailbox = await createMailbox("slow");
    const id = await send(mailbox, "{}");
    await listen(mailbox, receiver.url, "--lease", "5");
    await receiver.arrivals(1);
    const claimed = async (): Promise<{ claim_expires_at: number }> =>
      (await service.call("GET", `/api/v1/mailbox-messages/${id}`, { key: account.api_key })).body;
    const { claim_expires_at: first } = await claimed();
    await until(claimed, ({ claim_expires_at: now }) => now > first);
    finish!();
    await until(() => stats(mailbox), isDone);
    expect(receiver.received).toHaveLength(1);
  });

  it("releases messages in progress when it is ended", async () => {
    receiver = await startReceiver(() => undefined);
    const mailbox = await createMailbox("ended");
    await send(mailbox, "{}");
    await listen(mailbox, receiver.url);
    await receiver.arrivals(1);
    listener!.kill("SIGINT");
    expect(await listener!.ended).toEqual({ code: 0, signal: null });
    expect(await stats(mailbox)).toMatchObject({ ready: 1, claimed: 0 });
  });

  it("loses nothing when the service is killed and started again at the same address", async () => {
    let slow = 0;
    receiver = await startReceiver((_received, response) => {
      // Some requests are in progress when the service is killed.
      setTimeout(() => response.writeHead(200).end(), slow++ % 2 === 0 ? 50 : 1);
    });
    const mailbox = await createMailbox("killed");
    const ids = await Promise.all(Array.from({ length: 60 }, (_, n) => send(mailbox, JSON.stringify({ n }))));
    await listen(mailbox, receiver.url, "--concurrency", "4", "--lease", "5");
    await receiver.arrivals(10);
    const { port } = service;
    service.kill("SIGKILL");
    await service.ended;
    service = await startService({
      storage: { databaseUrl: database.url },
      env: { PORT: String(port) },
    });
    await until(
      () => new Set(receiver!.received.map(({ id }) => id)).size,
      (count) => count === ids.length,
      60_000,
    );
    await until(() => stats(mailbox), isDone, 60_000);
    expect(listener!.output()).not.toMatch(/undefined|Error:/);
    // Each message was acknowledged when it was answered, so that only requests in progress were repeated.
    expect(receiver.received.length).toBeLessThanOrEqual(ids.length + 8);
  });
});

describe("postrider listen --target", () => {
  it("posts items accepted from then on, while the target gets its own deliveries", async () => {
    receiver = await startReceiver();
    const made = await service.call("POST", "/api/v1/targets", {
      key: account.api_key,
      body: { kind: "webhook", name: "mirrored", url: `${receiver.url}/target` },
    });
    const id: string = made.body.id;
    await send(id, '{"n": 0}');
    await receiver.arrivals(1, { path: "/target" });
    listener = start(["listen", "--target", "mirrored", "--forward-to", `${receiver.url}/mirror`], env());
    await listener.says(/mirroring mirrored to/);
    const body = '{"n": 12345678901234567890}';
    const sent = await send(id, body, "order.created");
    const [mirrored] = await receiver.arrivals(1, { path: "/mirror" });
    expect([mirrored!.id, mirrored!.body.toString()]).toEqual([sent, body]);
    expect(mirrored!.headers["x-event-type"]).toBe("order.created");
    expect(isSignedWith(secret, mirrored!)).toBe(true);
    await listener.says(new RegExp(`${sent}  order.created  200`));
    expect((await receiver.arrivals(2, { path: "/target" })).map((one) => one.id)).toContain(sent);

    // A replay has the webhook-id of the replayed item, at the mirror as at the target.
    await service.call("POST", `/api/v1/events/${sent}/replay`, { key: account.api_key });
    const [, again] = await receiver.arrivals(2, { path: "/mirror" });
    expect(again!.id).toBe(sent);
    listener.kill("SIGINT");
    expect(await listener.ended).toEqual({ code: 0, signal: null });
  });

  it("waits for a local server that is down, and misses no item", async () => {
    const port = await freePort();
    const mailbox = await createMailbox("mirrored box");
    const forwarding = ["--forward-to", `http://127.0.0.1:${port}`];
    listener = start(["listen", "--target", mailbox, ...forwarding], env());
    await listener.says(/mirroring/);
    const ids = [await send(mailbox, "1"), await send(mailbox, "2")];
    await listener.says(/ECONNREFUSED/);
    receiver = await startReceiver(answerOk, port);
    expect((await receiver.arrivals(2)).map(({ id }) => id)).toEqual(ids);
    expect(await stats(mailbox)).toMatchObject({ ready: 2 });
  });

  it("waits for a service that is down, and misses no item", async () => {
    let answer: (() => void) | undefined;
    receiver = await startReceiver((_received, response) => {
      answer = () => void response.writeHead(200).end();
      if (receiver!.received.length > 2) answer();
    });
    const mailbox = await createMailbox("mirrored through a restart");
    listener = start(["listen", "--target", mailbox, "--forward-to", receiver.url], env());
    await listener.says(/mirroring/);
    const ids = [await send(mailbox, "0")];
    await receiver.arrivals(1);
    ids.push(await send(mailbox, "1"), await send(mailbox, "2"));
    answer!();
    await receiver.arrivals(2);
    // The poll that returned the second item also returned the third one, whose payload has not been read yet.
    const { port } = service;
    await service.stop();
    answer!();
    await listener.says(/trying again/);
    service = await startService({ storage: { databaseUrl: database.url }, env: { PORT: String(port) } });
    expect((await receiver.arrivals(3)).map(({ id }) => id)).toEqual(ids);
  });

  it("misses no item when this machine's clock is minutes ahead", async () => {
    receiver = await startReceiver();
    const mailbox = await createMailbox("mirrored by another clock");
    const ahead = "const now = Date.now; Date.now = () => now() + 300_000;";
    const options = `--import=data:text/javascript,${encodeURIComponent(ahead)}`;
    listener = start(["listen", "--target", mailbox, "--forward-to", receiver.url], {
      ...env(),
      NODE_OPTIONS: options,
    });
    await listener.says(/mirroring/);
    const id = await send(mailbox, "1");
    expect((await receiver.arrivals(1)).map((one) => one.id)).toEqual([id]);
  });

  it("is refused together with a mailbox, and one of the two is required", async () => {
    for (const words of [["inbox", "--target", "x"], []]) {
      const { code, err } = await run(["listen", ...words, "--forward-to", "http://127.0.0.1:1"], {
        env: env(),
      });
      expect([code, err]).toEqual([2, expect.stringContaining("name a mailbox")]);
    }
  });
});

it("items accepted while the caller works on an item for minutes are not missed", async () => {
  const client = createClient({ baseUrl: service.url, apiKey: account.api_key });
  const mailbox = await createMailbox("followed");
  const stopping = new AbortController();
  let passedMs = 0;
  let begin: (() => void) | undefined;
  const begun = new Promise<void>((resolve) => (begin = resolve));
  const items = followItems(
    client,
    { target_id: mailbox },
    {
      stop: stopping.signal,
      nowMs: () => Date.now() + passedMs,
      onBegun: () => begin!(),
      onProblem: () => undefined,
    },
  );
  const first = items.next();
  await begun;
  const ids = [await send(mailbox, "1")];
  expect((await first).value).toMatchObject({ id: ids[0] });
  ids.push(await send(mailbox, "2"));
  passedMs = 600_000;
  expect((await items.next()).value).toMatchObject({ id: ids[1] });
  stopping.abort();
  await items.return();
});

describe("postrider trigger", () => {
  it("sends the catalogue's example to one target, or to all targets of its event type", async () => {
    receiver = await startReceiver();
    const { api_key: key } = account;
    await service.call("PUT", "/api/v1/event-types/order.paid", { key, body: { example: { order: 7 } } });
    await service.call("PUT", "/api/v1/event-types/order.bare", { key, body: {} });
    const make = (name: string, fields: object): Promise<unknown> =>
      service.call("POST", "/api/v1/targets", {
        key,
        body: { kind: "webhook", name, url: `${receiver!.url}/${name}`, ...fields },
      });
    await make("triggered", { event_types: ["order.paid"] });
    const one = await run(["trigger", "order.paid", "--target", "triggered"], { env: env() });
    expect(one.code).toBe(0);
    const [arrived] = await receiver.arrivals(1, { path: "/triggered" });
    expect([arrived!.headers["x-event-type"], arrived!.body.toString()]).toEqual([
      "order.paid",
      '{"order":7}',
    ]);
    const all = await run(["trigger", "order.paid", "--json"], { env: env() });
    expect(all.json()[0].items.length).toBeGreaterThan(0);
    await receiver.arrivals(2, { path: "/triggered" });
    const bare = await run(["trigger", "order.bare"], { env: env() });
    expect([bare.code, bare.err]).toEqual([5, expect.stringContaining("has no example")]);
    expect((await run(["trigger", "none.such"], { env: env() })).code).toBe(4);
    expect(
      (await run(["trigger", "order.paid", "--target", "a", "--customer", "b"], { env: env() })).code,
    ).toBe(2);
  });
});
