import { join } from "node:path";
import { describe, expect } from "vitest";
import type { AgentOptions } from "./support/agent/agentOptions.ts";
import { type AnswerProxy, startAnswerProxy } from "./support/agent/answerProxy.ts";
import { type Agent, startAgent } from "./support/agent/startAgent.ts";
import { createAgentTarget, untilEnded, untilHandedOver } from "./support/agentTargets.ts";
import { answerJson, type CardServer, startCardServer, wholeCard } from "./support/cardServer.ts";
import { sendItem } from "./support/items.ts";
import type { ServiceProcess } from "./support/serviceProcess.ts";
import type { Account } from "./support/testNode.ts";
import { until } from "./support/until.ts";
import { file, serviceTest, stagedTest } from "./support/fixtures.ts";

/**
 * Two thirds of the time are for the message, one third is for finding out its outcome: enough for an agent on a
 * busy machine.
 */
const env = { POSTRIDER_DELIVERY_TIMEOUT_MS: "12000" };

interface Owner {
  service: ServiceProcess;
  account: Account;
}

/** An agent behind a proxy, and a target for it with a retry interval of one second. */
interface Reached {
  agent: Agent;
  proxy: AnswerProxy;
  cards: CardServer;
  targetId: string;
}

type Begin = (owner: Owner, options?: AgentOptions) => Promise<Reached>;

function beginner(folder: string, onCleanup: (cleanUp: () => Promise<void>) => void): Begin {
  return async ({ service, account }, options = {}) => {
    const agent = await startAgent({ ...options, storePath: join(folder, "tasks.json") });
    const proxy = await startAnswerProxy(agent.port);
    const cards = await startCardServer();
    onCleanup(async () => {
      await proxy.stop();
      await agent.kill();
      await cards.stop();
    });
    cards.answer = (response) => answerJson(response, wholeCard(`${proxy.url}/a2a`));
    const targetId = await createAgentTarget(service, account, cards.url, { retry_interval_seconds: 1 });
    return { agent, proxy, cards, targetId };
  };
}

const it = serviceTest(env)
  .extend("owner", file, ({ service, account }) => ({ service, account }))
  .extend("begin", ({ folder }, { onCleanup }) => beginner(folder, onCleanup));

/** With a separate service, which is killed. */
const itAlone = stagedTest(env)
  .extend("owner", ({ service, account }) => ({ service, account }))
  .extend("begin", ({ folder }, { onCleanup }) => beginner(folder, onCleanup));

/** Sends an item whose answer gets lost, and returns its id after the loss. */
async function loseAnswer(
  owner: Owner,
  { proxy, targetId }: Reached,
  loss: "reset" | "swallow",
  order: string = "complete",
): Promise<string> {
  proxy.answers = loss;
  const id = await sendItem(owner.service, owner.account, targetId, order);
  await until(
    () => proxy.lost,
    (lost) => lost > 0,
  );
  return id;
}

async function tasksMade({ agent }: Reached): Promise<number> {
  return (await agent.report()).tasks.length;
}

describe.concurrent("an answer that was lost after the message had arrived", () => {
  it.for(["reset", "swallow"] as const)(
    "causes no second task when it was %s, because the agent's task list shows the first",
    async (loss, { begin, owner }) => {
      const reached = await begin(owner);
      const { agent, proxy } = reached;
      proxy.answers = loss;
      const id = await sendItem(owner.service, owner.account, reached.targetId, "complete");
      const seen = await untilEnded(owner.service, owner.account, id);
      expect(proxy.lost).toBeGreaterThan(0);
      expect(await tasksMade(reached)).toBe(1);
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

  it("causes no second task when the agent stops meanwhile, and returns with its tasks", async ({
    begin,
    owner,
  }) => {
    const reached = await begin(owner);
    const { agent, proxy } = reached;
    const id = await loseAnswer(owner, reached, "swallow");
    const [taskId] = (await agent.report()).tasks;
    await agent.kill();
    proxy.answers = "pass";
    const waiting = await untilHandedOver(
      owner.service,
      owner.account,
      id,
      (seen) => seen.delivery_attempts.length > 1,
    );
    expect(waiting.delivery_attempts[0]!.error).toContain(
      "its task is looked up before the message is sent again",
    );
    expect(waiting.delivery_attempts[1]!.error).toContain("an earlier message got no answer");
    await agent.restart();
    // The agent may or may not have finished its work before it stopped.
    const seen = await untilHandedOver(
      owner.service,
      owner.account,
      id,
      ({ event }) => event.status === "DELIVERED",
    );
    expect(seen.handoff).toMatchObject({ task_id: taskId, possible_duplicate: false });
    expect(await agent.messages()).toHaveLength(0);
  });

  itAlone(
    "causes no second task when the service is killed while it waits",
    async ({ begin, owner, service, again }) => {
      const reached = await begin(owner);
      const { agent, proxy } = reached;
      const id = await loseAnswer(owner, reached, "swallow");
      service.kill("SIGKILL");
      await service.ended;
      proxy.answers = "pass";
      const seen = await untilEnded(await again(), owner.account, id);
      expect(seen.handoff).toMatchObject({ outcome: "COMPLETED", possible_duplicate: false });
      expect(await tasksMade(reached)).toBe(1);
      expect(await agent.messages()).toHaveLength(1);
    },
  );

  it("may cause a second task when the agent has no task list, and the handoff says so", async ({
    begin,
    owner,
  }) => {
    const reached = await begin(owner, { taskList: "absent" });
    const { agent, proxy } = reached;
    const id = await loseAnswer(owner, reached, "reset");
    proxy.answers = "pass";
    const seen = await untilEnded(owner.service, owner.account, id);
    expect(seen.delivery_attempts[0]!.error).toContain(
      "whether the agent received the message cannot be determined",
    );
    expect(seen.delivery_attempts[0]!.error).toContain("sending it again may create a second task");
    expect(seen.handoff).toMatchObject({ outcome: "COMPLETED", possible_duplicate: true });
    expect(await tasksMade(reached)).toBe(2);
    const ids = (await agent.messages()).map(({ body }) => body?.message?.messageId);
    expect(ids).toEqual([id, id]);
  });

  it("may cause the work twice when the agent answers without a task, and the handoff says so", async ({
    begin,
    owner,
  }) => {
    const reached = await begin(owner);
    const id = await loseAnswer(owner, reached, "reset", "message");
    reached.proxy.answers = "pass";
    const seen = await untilEnded(owner.service, owner.account, id);
    expect(seen.handoff).toMatchObject({ task_id: null, outcome: "COMPLETED", possible_duplicate: true });
    expect(await reached.agent.messages()).toHaveLength(2);
  });
});

it("a message that never reached the agent is sent again without a search in its task list", async ({
  begin,
  owner,
}) => {
  const { agent, proxy, cards, targetId } = await begin(owner);
  await agent.kill();
  await proxy.stop();
  const id = await sendItem(owner.service, owner.account, targetId, "complete");
  const failing = await untilHandedOver(
    owner.service,
    owner.account,
    id,
    (seen) => seen.delivery_attempts.length > 0,
  );
  expect(failing).toMatchObject({ event: { status: "RETRYING" }, handoff: null });
  expect(failing.delivery_attempts[0]!.error).toBe("connection refused");
  await agent.restart();
  cards.answer = (response) => answerJson(response, wholeCard(`http://127.0.0.1:${agent.port}/a2a`));
  await owner.service.call("POST", `/api/v1/targets/${targetId}/refresh`, { key: owner.account.api_key });
  const seen = await untilEnded(owner.service, owner.account, id);
  expect(seen.handoff).toMatchObject({ outcome: "COMPLETED", possible_duplicate: false });
  expect((await agent.report()).requests.filter(({ path }) => path.endsWith("/tasks"))).toEqual([]);
});
