import { expect } from "vitest";
import { createAgentTarget, type HandedOver, untilEnded, untilHandedOver } from "./support/agentTargets.ts";
import { answerJson } from "./support/cardServer.ts";
import { sharedServiceTest } from "./support/fixtures.ts";
import { sendItem } from "./support/items.ts";
import { type ScriptedAgent, startScriptedAgent } from "./support/scriptedAgent.ts";

const it = sharedServiceTest()
  .extend("confused", async ({}, { onCleanup }): Promise<ScriptedAgent> => {
    const agent = await startScriptedAgent();
    onCleanup(() => agent.stop());
    return agent;
  })
  .extend("ask", ({ service, account, confused }) => async (fields: object = {}): Promise<string> => {
    const target = await createAgentTarget(service, account, confused.cardUrl, {
      retry_interval_seconds: 1,
      ...fields,
    });
    return sendItem(service, account, target, "work");
  });

const task = (id: string, state: string, fields: object = {}): object => ({
  id,
  status: { state },
  ...fields,
});

it("a task that belongs to another item is not used for this item", async ({
  service,
  account,
  confused,
  ask,
}) => {
  confused.answers.message = (response) => answerJson(response, { task: task("own", "TASK_STATE_WORKING") });
  const artifacts = [{ artifactId: "a", parts: [{ text: "somebody else's" }] }];
  confused.answers.task = (response) =>
    answerJson(response, task("other", "TASK_STATE_COMPLETED", { artifacts }));
  const id = await ask();
  const isNoted = ({ handoff }: HandedOver): boolean => typeof handoff?.error === "string";
  const { handoff } = await untilHandedOver(service, account, id, isNoted);
  expect(handoff).toMatchObject({
    task_id: "own",
    state: "WORKING",
    outcome: null,
    artifacts: [],
    error: "the agent's answer is about another task",
  });
  const steer = (step: string) =>
    service.call("POST", `/api/v1/events/${id}/handoff/${step}`, { key: account.api_key, body: "go" });
  expect(await steer("message")).toMatchObject({
    status: 502,
    body: { error: "the agent's answer is about another task" },
  });
  // The agent is asked to cancel the item's own task, and its answer is not used.
  expect(await steer("cancel")).toMatchObject({
    status: 200,
    body: { handoff: { task_id: "own", state: "WORKING", outcome: null, artifacts: [] } },
  });
  confused.answers.task = (response, taskId) => answerJson(response, task(taskId, "TASK_STATE_COMPLETED"));
  const ended = await untilEnded(service, account, id);
  expect(ended.handoff).toMatchObject({ task_id: "own", outcome: "COMPLETED", artifacts: [], error: null });
});

it("a message is not sent again while the agent's task list contains it, even in a task that cannot be parsed", async ({
  service,
  account,
  confused,
  ask,
}) => {
  // The state is spelled as in A2A versions before 1.0.
  const made = (messageId: string): object => task("own", "working", { history: [{ messageId }] });
  confused.answers.message = (response, messageId) => answerJson(response, { task: made(messageId) });
  confused.answers.list = (response) => answerJson(response, { tasks: confused.sent.map(made) });
  const id = await ask({ max_retries: 1 });
  const { delivery_attempts: attempts } = await untilHandedOver(
    service,
    account,
    id,
    ({ event }) => event.status === "FAILED",
  );
  expect(confused.sent).toEqual([id]);
  expect(attempts.map(({ error }) => error)).toEqual([
    expect.stringContaining("its task is looked up before the message is sent again"),
    expect.stringContaining("the agent's task list shows a task that has no task state at $.status.state"),
  ]);
});

it("a message is marked as a possible duplicate when the list shows only some tasks with their messages", async ({
  service,
  account,
  confused,
  ask,
}) => {
  const tasks = [
    task("begun", "TASK_STATE_WORKING", { history: [{ messageId: "earlier" }] }),
    task("own", "TASK_STATE_SUBMITTED"),
  ];
  confused.answers.list = (response) => answerJson(response, { tasks });
  const { message } = confused.answers;
  confused.answers.message = (response, messageId) =>
    confused.sent.length === 1 ? response.destroy() : message(response, messageId);
  const { handoff } = await untilEnded(service, account, await ask());
  expect(handoff).toMatchObject({ outcome: "COMPLETED", possible_duplicate: true });
});

const messages = (count: number): object[] =>
  Array.from({ length: count }, (_, index) => ({ messageId: `m${index}` }));

it("a message is not sent again while it is the first of more messages than the task list shows", async ({
  service,
  account,
  confused,
  ask,
}) => {
  confused.answers.message = (response) => response.destroy();
  confused.answers.list = (response) => {
    const others = task("other", "TASK_STATE_WORKING", { history: messages(100) });
    const own = task("own", "TASK_STATE_WORKING", { history: messages(100) });
    answerJson(response, { tasks: [others, own] });
  };
  confused.answers.task = (response, taskId) => {
    const first = taskId === "own" ? confused.sent.map((messageId) => ({ messageId })) : [];
    answerJson(response, task(taskId, "TASK_STATE_COMPLETED", { history: [...first, ...messages(120)] }));
  };
  const { handoff } = await untilEnded(service, account, await ask());
  expect(handoff).toMatchObject({ task_id: "own", outcome: "COMPLETED", possible_duplicate: false });
  expect(confused.sent).toHaveLength(1);
});

it.for([
  ["cut off", 100],
  ["longer than the service reads", 10_000],
] as const)(
  "a message is marked as a possible duplicate while a task's history is %s",
  async ([, shown], { service, account, confused, ask }) => {
    const { message } = confused.answers;
    confused.answers.message = (response, messageId) =>
      confused.sent.length === 1 ? response.destroy() : message(response, messageId);
    const long = (count: number): object => task("other", "TASK_STATE_WORKING", { history: messages(count) });
    confused.answers.list = (response) => answerJson(response, { tasks: [long(100)] });
    confused.answers.task = (response) => answerJson(response, long(shown));
    const { handoff } = await untilEnded(service, account, await ask());
    expect(handoff).toMatchObject({ outcome: "COMPLETED", possible_duplicate: true });
  },
);

it("a task that its agent does not show at first is followed further", async ({
  service,
  account,
  confused,
  ask,
}) => {
  let polls = 0;
  confused.answers.message = (response) => answerJson(response, { task: task("own", "TASK_STATE_WORKING") });
  confused.answers.task = (response, taskId) => {
    if (polls++ < 3) response.writeHead(404).end();
    else answerJson(response, task(taskId, "TASK_STATE_COMPLETED"));
  };
  const { handoff } = await untilEnded(service, account, await ask());
  expect(handoff).toMatchObject({ outcome: "COMPLETED", error: null });
});

it.for([
  ["null for a task", '{"task":null,"message":{"parts":[{"text":"hello"}]}}'],
  ["a byte order mark", '\ufeff{"message":{"parts":[{"text":"hello"}]}}'],
] as const)(
  "an answer with %s is read as its message",
  async ([, text], { service, account, confused, ask }) => {
    confused.answers.message = (response) => answerJson(response, text);
    const { delivery_attempts: attempts, handoff } = await untilEnded(service, account, await ask());
    expect(attempts).toHaveLength(1);
    expect(handoff).toMatchObject({ task_id: null, outcome: "COMPLETED", status_message: "hello" });
  },
);
