import { connect } from "node:net";
import { setTimeout as delay } from "node:timers/promises";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { createClient } from "../../sdk/src/client.ts";
import { type Agent, startAgent } from "./support/agent/startAgent.ts";
import { sharedStartedNode } from "./support/sharedServices.ts";
import { createSampleRunner, isAsSaid, readSamples, type Sample } from "./support/pageSamples.ts";
import { signUp, type TestNode } from "./support/testNode.ts";
import { until } from "./support/until.ts";
import { freePort } from "./support/freePort.ts";

const samples = await readSamples();
let shared: Awaited<ReturnType<typeof sharedStartedNode>>;
let node: TestNode;
let agent: Agent;
let baseUrl: string;
let runner: Awaited<ReturnType<typeof createSampleRunner>>;

beforeAll(async () => {
  shared = await sharedStartedNode();
  ({ node, url: baseUrl } = shared);
  [agent, runner] = await Promise.all([startAgent(), createSampleRunner()]);
});

afterAll(async () => {
  await runner.remove();
  await agent.kill();
  await shared.leave();
});

/** Whether a program listens at the port. */
function listensAt(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect(port, "127.0.0.1", () => resolve(true));
    socket.once("error", () => resolve(false));
    socket.once("connect", () => socket.destroy());
  });
}

/** Creates the account, targets and variables that the pages expect a reader to have. */
async function prepare(): Promise<{ env: Record<string, string>; send: () => Promise<unknown> }> {
  const { api_key: apiKey } = await signUp(node);
  const client = createClient({ baseUrl, apiKey });
  const port = await freePort();
  const url = `http://127.0.0.1:${port}/hooks`;
  const webhook = await client.createTarget({ kind: "webhook", name: "shop", url });
  const mailbox = await client.createTarget({ kind: "mailbox", name: "jobs" });
  const order = { order: 1001, total: 25 };
  return {
    env: {
      POSTRIDER_URL: baseUrl,
      POSTRIDER_KEY: apiKey,
      MAILBOX_ID: mailbox.id,
      WEBHOOK_ID: webhook.id,
      WEBHOOK_SECRET: webhook.secret!,
      AGENT_CARD_URL: agent.cardUrl,
      PORT: String(port),
    },
    async send() {
      await client.sendItem(mailbox.id, order, { eventType: "order.created" });
      await client.sendItem(webhook.id, order, { eventType: "order.created" });
    },
  };
}

/** Runs a sample; returns its lines and its exit code, which is null when a signal stopped it. */
async function run(sample: Sample): Promise<{ lines: string[]; code: number | null }> {
  const { env, send } = await prepare();
  const running = await runner.start(sample, env);
  if (sample.kind === "receiver") await until(() => listensAt(Number(env["PORT"])), Boolean);
  if (sample.kind !== "") {
    await send();
    await until(
      () => running.lines(),
      (seen) => seen.length > 0,
    );
    running.stop();
  }
  const late = delay(sampleLimitMs, "late" as const, { ref: false });
  const code = await Promise.race([running.ended, late]);
  if (code !== "late") return { code, lines: running.lines() };
  running.stop();
  const asked = (await agent.report()).requests.map(({ method, path }) => `${method} ${path}`);
  throw new Error(
    `it goes on after printing ${JSON.stringify(running.lines())}; items: ${await items(env)}; the agent was asked: ${asked.join(", ")}`,
  );
}

const sampleLimitMs = 60_000;

/** The organization's events as JSON, to show in a failure message why a sample still waits. */
async function items({ POSTRIDER_KEY: key }: Record<string, string>): Promise<string> {
  const read = async (path: string): Promise<unknown> =>
    (await fetch(baseUrl + path, { headers: { authorization: `Bearer ${key}` } })).json();
  const listed = (await read("/api/v1/events")) as { events: { id: string }[] };
  return JSON.stringify(await Promise.all(listed.events.map(({ id }) => read(`/api/v1/events/${id}`))));
}

describe("the client's pages", () => {
  it("have samples for every task", () => {
    expect([...new Set(samples.map(({ page }) => page))]).toEqual([
      "consume-a-mailbox.md",
      "errors-and-retries.md",
      "hand-off-to-agents.md",
      "receive-webhooks.md",
      "replay-and-inspect.md",
      "send-items.md",
      "typed-events.md",
    ]);
  });

  it("are accepted by the compiler", async () => {
    expect(await runner.typeCheck(samples)).toBe("");
  });

  it.concurrent.each(samples.map((sample) => [sample.page, sample.number, sample] as const))(
    "%s: sample %d does what the page says",
    async (_page, _number, sample) => {
      const { lines, code } = await run(sample);
      expect(isAsSaid(lines, sample) ? sample.prints : lines).toEqual(sample.prints);
      // A receiver runs until it is killed; a worker stops gracefully.
      expect(code).toBe(sample.kind === "receiver" ? null : 0);
    },
  );
});
