import { join } from "node:path";
import { describe, expect } from "vitest";
import type { AgentOptions } from "./support/agent/agentOptions.ts";
import { type AnswerProxy, startAnswerProxy } from "./support/agent/answerProxy.ts";
import { type Agent, startAgent } from "./support/agent/startAgent.ts";
import { createAgentTarget, untilEnded, untilHandedOver } from "./support/agentTargets.ts";
import { answerJson, wholeCard } from "./support/cardServer.ts";
import { sendItem } from "./support/items.ts";
import { until } from "./support/until.ts";
import { stagedTest } from "./support/fixtures.ts";

/** Two thirds of it for the message, one third for finding out what became of it. */
const env = { POSTRIDER_DELIVERY_TIMEOUT_MS: "3000" };
let agent: Agent;
let proxy: AnswerProxy;

const it = stagedTest(env)
  /** An agent that is reached through a proxy, and a target for it that is tried again after a second. */
  .extend("begin", ({ folder, cards, service, account }, { onCleanup }) => {
    onCleanup(async () => {
      await proxy.stop();
      await agent.kill();
    });
    return async (options: AgentOptions = {}): Promise<string> => {
      agent = await startAgent({ ...options, storePath: join(folder, "tasks.json") });
      proxy = await startAnswerProxy(agent.port);
      cards.answer = (response) => answerJson(response, wholeCard(`${proxy.url}/a2a`));
      return createAgentTarget(service, account, cards.url, { retry_interval_seconds: 1 });
    };
  })
  /** Sends an item whose answer gets lost, and gives its id when that has happened. */
  .extend(
    "loseAnswer",
    ({ service, account }) =>
      async (targetId: string, loss: "reset" | "swallow"): Promise<string> => {
        proxy.answers = loss;
        const id = await sendItem(service, account, targetId, "complete");
        await until(
          () => proxy.lost,
          (lost) => lost > 0,
        );
        return id;
      },
  );

async function tasksMade(): Promise<number> {
  return (await agent.report()).tasks.length;
}

describe("an answer that was lost after the message had arrived", () => {
  it.for(["reset", "swallow"] as const)(
    "makes no second task when it was %s: the agent's task list shows the first",
    async (loss, { begin, service, account }) => {
      const targetId = await begin();
      proxy.answers = loss;
      const id = await sendItem(service, account, targetId, "complete");
      const seen = await untilEnded(service, account, id);
      expect(proxy.lost).toBeGreaterThan(0);
      expect(await tasksMade()).toBe(1);
      expect(await agent.messages()).toHaveLength(1);
      expect(seen).toMatchObject({
        event: { status: "DELIVERED" },
        delivery_attempts: [{ status_code: 200, error: null }],
        handoff: {
          outcome: "COMPLETED",
          possible_duplicate: false,
          task_id: (await agent.report()).tasks[0],
        },
      });
    },
  );

  it("makes no second task when the agent goes away meanwhile, and comes back with its tasks", async ({
    begin,
    loseAnswer,
    service,
    account,
  }) => {
    const targetId = await begin();
    const id = await loseAnswer(targetId, "swallow");
    const [taskId] = (await agent.report()).tasks;
    await agent.kill();
    proxy.answers = "pass";
    const waiting = await untilHandedOver(service, account, id, (seen) => seen.delivery_attempts.length > 1);
    expect(waiting.delivery_attempts[0]!.error).toContain("its task is looked for before it is sent again");
    expect(waiting.delivery_attempts[1]!.error).toContain("an earlier message was not answered");
    await agent.restart();
    // Whether the agent got to the end of its work before it went away is its own affair.
    const seen = await untilHandedOver(service, account, id, ({ event }) => event.status === "DELIVERED");
    expect(seen.handoff).toMatchObject({ task_id: taskId, possible_duplicate: false });
    expect(await agent.messages()).toHaveLength(0);
  });

  it("makes no second task when the service is killed while it waits", async ({
    begin,
    loseAnswer,
    service,
    account,
    again,
  }) => {
    const targetId = await begin();
    const id = await loseAnswer(targetId, "swallow");
    service.kill("SIGKILL");
    await service.ended;
    proxy.answers = "pass";
    const seen = await untilEnded(await again(), account, id);
    expect(seen.handoff).toMatchObject({ outcome: "COMPLETED", possible_duplicate: false });
    expect(await tasksMade()).toBe(1);
    expect(await agent.messages()).toHaveLength(1);
  });

  it("may make a second where the agent has no task list, and says so", async ({
    begin,
    loseAnswer,
    service,
    account,
  }) => {
    const targetId = await begin({ taskList: "absent" });
    const id = await loseAnswer(targetId, "reset");
    proxy.answers = "pass";
    const seen = await untilEnded(service, account, id);
    expect(seen.delivery_attempts[0]!.error).toContain(
      "it cannot be known whether the agent took the message",
    );
    expect(seen.delivery_attempts[0]!.error).toContain("sending it again may make a second task");
    expect(seen.handoff).toMatchObject({ outcome: "COMPLETED", possible_duplicate: true });
    expect(await tasksMade()).toBe(2);
    const ids = (await agent.messages()).map(({ body }) => body?.message?.messageId);
    expect(ids).toEqual([id, id]);
  });
});

it("a message that never reached the agent is sent again without being looked for", async ({
  begin,
  service,
  account,
  cards,
}) => {
  const targetId = await begin();
  await agent.kill();
  await proxy.stop();
  const id = await sendItem(service, account, targetId, "complete");
  const failing = await untilHandedOver(service, account, id, (seen) => seen.delivery_attempts.length > 0);
  expect(failing).toMatchObject({ event: { status: "RETRYING" }, handoff: null });
  expect(failing.delivery_attempts[0]!.error).toBe("connection refused");
  await agent.restart();
  cards.answer = (response) => answerJson(response, wholeCard(`http://127.0.0.1:${agent.port}/a2a`));
  await service.call("POST", `/api/v1/targets/${targetId}/refresh`, { key: account.api_key });
  const seen = await untilEnded(service, account, id);
  expect(seen.handoff).toMatchObject({ outcome: "COMPLETED", possible_duplicate: false });
  expect((await agent.report()).requests.filter(({ path }) => path.endsWith("/tasks"))).toEqual([]);
});
