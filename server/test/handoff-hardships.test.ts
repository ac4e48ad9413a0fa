import { join } from "node:path";
import { describe, expect } from "vitest";
import type { Agent } from "./support/agent/startAgent.ts";
import { createAgentTarget, readHandedOver, untilEnded, untilHandedOver } from "./support/agentTargets.ts";
import { serviceTest, stageTest } from "./support/fixtures.ts";
import { sendItem } from "./support/items.ts";
import { makeTaskOlder } from "./support/passedTime.ts";
import type { ServiceProcess } from "./support/serviceProcess.ts";
import { type Account, signUp } from "./support/testNode.ts";
import { freePort } from "./support/freePort.ts";

const it = serviceTest();

/** With a separate service: another process on the same database could do the work instead. */
const itAlone = stageTest;

interface Owner {
  service: ServiceProcess;
  account: Account;
}

async function own(starting: Promise<ServiceProcess>): Promise<Owner> {
  const service = await starting;
  return { service, account: await signUp(service) };
}

function targetFor({ service, account }: Owner, agent: Agent, fields: object = {}): Promise<string> {
  return createAgentTarget(service, account, agent.cardUrl, { retry_interval_seconds: 1, ...fields });
}

/** Hands an item over and waits until the agent works on it. */
async function handOver(
  { service, account }: Owner,
  targetId: string,
  order: string,
  state: string,
): Promise<string> {
  const id = await sendItem(service, account, targetId, order);
  await untilHandedOver(service, account, id, ({ handoff }) => handoff?.state === state);
  return id;
}

describe.concurrent("an agent", () => {
  it("that is down gets its items when it is up again", async ({ service, account, newAgent }) => {
    const owner = { service, account };
    const agent = await newAgent();
    const targetId = await targetFor(owner, agent);
    await agent.kill();
    const id = await sendItem(service, account, targetId, "complete");
    const waiting = await untilHandedOver(service, account, id, ({ event }) => event.status === "RETRYING");
    expect(waiting.delivery_attempts[0]!.error).toBe("connection refused");
    expect(waiting.handoff).toBeNull();
    await agent.restart();
    const { handoff } = await untilEnded(service, account, id);
    expect(handoff).toMatchObject({ outcome: "COMPLETED", possible_duplicate: false });
  });

  it("that restarts with its tasks is followed further", async ({ service, account, newAgent, folder }) => {
    const owner = { service, account };
    const agent = await newAgent({ storePath: join(folder, "tasks.json") });
    const id = await handOver(owner, await targetFor(owner, agent), "input", "INPUT_REQUIRED");
    await agent.restart();
    await service.call("POST", `/api/v1/events/${id}/handoff/message`, { key: account.api_key, body: "go" });
    expect((await untilEnded(service, account, id)).handoff.outcome).toBe("COMPLETED");
  });

  it("that loses its tasks leaves the outcome unknown, and the item delivered", async ({
    service,
    account,
    newAgent,
    pool,
  }) => {
    const owner = { service, account };
    const agent = await newAgent();
    const id = await handOver(owner, await targetFor(owner, agent), "hang", "WORKING");
    await agent.restart();
    await makeTaskOlder(pool, id, 300);
    const { event, handoff } = await untilEnded(service, account, id);
    expect(event).toMatchObject({ status: "DELIVERED", retry_count: 0 });
    expect(handoff).toMatchObject({ state: "WORKING", outcome: "UNKNOWN" });
    expect(handoff.error).toContain("the agent no longer knows the task: the agent answered 404");
    expect(await agent.messages()).toEqual([]);
  });

  itAlone(
    "that never finishes is no longer followed at the limit, and never gets the item again",
    async ({ start, newAgent }) => {
      const owner = await own(start({ POSTRIDER_HANDOFF_DEADLINE_SECONDS: "3" }));
      const agent = await newAgent();
      const id = await handOver(owner, await targetFor(owner, agent), "hang", "WORKING");
      const { service, account } = owner;
      const { handoff } = await untilEnded(service, account, id);
      expect(handoff).toMatchObject({ outcome: "UNKNOWN", state: "WORKING" });
      expect(handoff.error).toBe("the task is no longer followed: the task has been WORKING for too long");
      expect(await agent.messages()).toHaveLength(1);
    },
  );

  it("that moves is found through its card, within the attempt that failed at the old address", async ({
    service,
    account,
    newAgent,
  }) => {
    const owner = { service, account };
    const agent = await newAgent({ path: "/old" });
    const targetId = await targetFor(owner, agent);
    await agent.restart({ path: "/new" });
    const id = await sendItem(service, account, targetId, "complete");
    const seen = await untilEnded(service, account, id);
    expect(seen.handoff.outcome).toBe("COMPLETED");
    expect(seen.delivery_attempts).toHaveLength(1);
    const { body } = await service.call("GET", `/api/v1/targets/${targetId}`, { key: account.api_key });
    expect(body.url).toMatch(/\/new$/);
  });

  it("that refuses a message permanently fails the item at once", async ({ service, account, newAgent }) => {
    const owner = { service, account };
    const agent = await newAgent();
    const targetId = await targetFor(owner, agent);
    const id = await sendItem(service, account, targetId, {
      role: "ROLE_USER",
      taskId: "no-such-task",
      parts: [{ text: "complete" }],
    });
    const seen = await untilHandedOver(service, account, id, ({ event }) => event.status === "FAILED");
    expect(seen.delivery_attempts).toMatchObject([
      { status_code: 404, error: "the agent answered 404: Task not found: no-such-task" },
    ]);
    expect(seen.handoff).toBeNull();
  });

  it("whose target is deleted is no longer followed", async ({ service, account, newAgent }) => {
    const owner = { service, account };
    const agent = await newAgent();
    const targetId = await targetFor(owner, agent);
    const id = await handOver(owner, targetId, "hang", "WORKING");
    await service.call("DELETE", `/api/v1/targets/${targetId}`, { key: account.api_key });
    const { handoff } = await untilEnded(service, account, id);
    expect(handoff).toMatchObject({ outcome: "UNKNOWN", error: "the target was deleted" });
  });
});

describe.concurrent("following", () => {
  itAlone("continues after the service was killed", async ({ start, newAgent }) => {
    const owner = await own(start());
    const agent = await newAgent();
    const id = await handOver(owner, await targetFor(owner, agent), "slow 4000", "WORKING");
    const { service, account } = owner;
    service.kill("SIGKILL");
    await service.ended;
    const next = await start();
    expect((await untilEnded(next, account, id)).handoff.outcome).toBe("COMPLETED");
    expect(await agent.messages()).toHaveLength(1);
  });

  itAlone("of one agent's tasks does not wait for another agent that hangs", async ({ start, newAgent }) => {
    // A request to the hanging agent takes a minute to time out, longer than the waits below.
    const owner = await own(start({ POSTRIDER_DELIVERY_TIMEOUT_MS: "60000" }));
    const { service, account } = owner;
    const [hanging, healthy] = [await newAgent(), await newAgent()];
    const [hangingId, healthyId] = [await targetFor(owner, hanging), await targetFor(owner, healthy)];
    const stuck: string[] = [];
    for (let count = 0; count < 40; count++) stuck.push(await sendItem(service, account, hangingId, "hang"));
    for (const id of stuck) {
      await untilHandedOver(service, account, id, ({ handoff }) => handoff?.state === "WORKING");
    }
    hanging.freeze();
    for (let count = 0; count < 5; count++) {
      const id = await sendItem(service, account, healthyId, "slow 500");
      await untilEnded(service, account, id, 45_000);
    }
    hanging.thaw();
    expect((await readHandedOver(service, account, stuck[0]!)).handoff).toMatchObject({ outcome: null });
  });

  itAlone(
    "is accelerated by the agent's notifications, which are authenticated by their address alone",
    async ({ start, newAgent }) => {
      const port = await freePort();
      const { service, account } = await own(
        start({ PORT: String(port), POSTRIDER_PUBLIC_URL: `http://127.0.0.1:${port}` }),
      );
      const agent = await newAgent({ pushNotifications: true });
      const id = await sendItem(service, account, await targetFor({ service, account }, agent), "auth 3000");
      // A task that waits for input is polled once a minute.
      const { handoff } = await untilEnded(service, account, id, 45_000);
      expect(handoff.outcome).toBe("COMPLETED");
      const [message] = await agent.messages();
      const { url } = message!.body!.configuration!["taskPushNotificationConfig"] as { url: string };
      expect(url).toMatch(new RegExp(`^${service.url}/a2a/notifications/${id}[\\w-]{43}$`));
      const notify = (address: string, body: string = "{", headers: Record<string, string> = {}) =>
        fetch(address, {
          method: "POST",
          body,
          headers: { "content-type": "application/a2a+json", ...headers },
        });
      expect((await notify(url)).status).toBe(200);
      // The task with a large result, as plain JSON and compressed.
      const large = JSON.stringify({ artifact: "x".repeat(2 * 2 ** 20) });
      for (const coding of ["identity", "gzip"]) {
        const headers = { "content-type": "application/json", "content-encoding": coding };
        expect((await notify(url, large, headers)).status).toBe(200);
      }
      const forged = url.slice(0, -1) + (url.endsWith("A") ? "B" : "A");
      expect((await notify(forged)).status).toBe(404);
    },
  );
});
