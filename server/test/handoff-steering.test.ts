import { describe, expect } from "vitest";
import { createAgentTarget, untilEnded, untilHandedOver } from "./support/agentTargets.ts";
import { answerJson, wholeCard } from "./support/cardServer.ts";
import { acceptedEvents, createWebhookTarget, sendItem } from "./support/items.ts";
import { type Answer, signUp } from "./support/testNode.ts";
import { file, sharedServiceTest } from "./support/fixtures.ts";

const it = sharedServiceTest()
  .extend("targetId", file, ({ service, account, agent }) =>
    createAgentTarget(service, account, agent.cardUrl),
  )
  /** Hands an item over and waits until its task is in `state`. */
  .extend(
    "reach",
    file,
    ({ service, account, targetId }) =>
      async (order: string, state: string): Promise<string> => {
        const id = await sendItem(service, account, targetId, order);
        await untilHandedOver(service, account, id, ({ handoff }) => handoff?.state === state);
        return id;
      },
  )
  .extend(
    "answer",
    file,
    ({ service, account }) =>
      (id: string, body: unknown, headers: Record<string, string> = {}): Promise<Answer> =>
        service.call("POST", `/api/v1/events/${id}/handoff/message`, {
          key: account.api_key,
          body,
          headers,
        }),
  )
  .extend(
    "cancel",
    file,
    ({ account, service }) =>
      (id: string, key: string = account.api_key): Promise<Answer> =>
        service.call("POST", `/api/v1/events/${id}/handoff/cancel`, { key }),
  );

describe("a task that waits for input", () => {
  it("is answered and continues to its end", async ({ service, account, reach, answer, agent }) => {
    const before = await acceptedEvents(service, account);
    const id = await reach("input", "INPUT_REQUIRED");
    const answered = await answer(id, { text: "the blue one" });
    expect(answered).toMatchObject({ status: 200, body: { handoff: { outcome: null } } });
    const ended = await untilEnded(service, account, id);
    expect(ended.handoff).toMatchObject({
      outcome: "COMPLETED",
      task_id: answered.body.handoff.task_id,
      artifacts: [{ parts: [{ text: "the blue one" }] }],
    });
    const [, second] = (await agent.messages()).filter(
      ({ body }) => body?.message?.metadata["event_id"] === id,
    );
    expect(second!.body!.message).toMatchObject({
      taskId: ended.handoff.task_id,
      contextId: ended.handoff.context_id,
      parts: [{ text: "the blue one" }],
    });
    expect(await acceptedEvents(service, account)).toBe(before + 1);
  });

  it("is answered once under one Idempotency-Key", async ({ reach, answer, agent }) => {
    const id = await reach("input", "INPUT_REQUIRED");
    const headers = { "idempotency-key": "k1" };
    expect((await answer(id, "yes", headers)).headers["idempotency-replayed"]).toBeUndefined();
    const sent = (await agent.messages()).length;
    const again = await answer(id, "yes", headers);
    expect(again.headers["idempotency-replayed"] === "true" || again.status === 409).toBe(true);
    expect(await agent.messages()).toHaveLength(sent);
  });

  it("is answered with a document of any depth, and needs no history from the agent", async ({
    service,
    account,
    cards,
    answer,
  }) => {
    const task = { id: "t1", status: { state: "TASK_STATE_INPUT_REQUIRED" } };
    const asked: string[] = [];
    cards.answer = (response) => {
      const { method, url } = response.req;
      asked.push(`${method} ${url}`);
      if (url === "/card.json") answerJson(response, wholeCard(`${cards.origin}/a2a`));
      else if (method === "POST") answerJson(response, { task });
      else answerJson(response, url!.endsWith("historyLength=50") ? "null" : task);
    };
    const targetId = await createAgentTarget(service, account, cards.url);
    const id = await sendItem(service, account, targetId, "begin");
    await untilHandedOver(service, account, id, ({ handoff }) => handoff?.state === "INPUT_REQUIRED");
    expect(await answer(id, "yes", { "idempotency-key": "k" })).toMatchObject({
      status: 502,
      body: { error: "the agent's answer has no task at $" },
    });
    expect(asked.filter((one) => one.startsWith("POST"))).toHaveLength(1);
    const deep = await service.call("POST", `/api/v1/events/${id}/handoff/message`, {
      key: account.api_key,
      payload: `{"role":"ROLE_USER","parts":[{"data":${"[".repeat(100_000)}${"]".repeat(100_000)}}]}`,
    });
    expect(deep.status).toBe(200);
  });

  it("may be canceled instead of answered", async ({ reach, cancel, answer }) => {
    const id = await reach("auth", "AUTH_REQUIRED");
    expect(await cancel(id)).toMatchObject({
      status: 200,
      body: { handoff: { state: "CANCELED", outcome: "CANCELED" } },
    });
    expect((await answer(id, "too late")).body).toEqual({ error: "the task has ended: CANCELED" });
  });
});

describe("an answer or cancellation is refused with the reason for", () => {
  it("a working task, which can only be canceled", async ({ reach, answer, cancel }) => {
    const id = await reach("hang", "WORKING");
    expect(await answer(id, "hello?")).toMatchObject({
      status: 409,
      headers: { "x-error-code": "task_not_waiting" },
      body: { error: "the task does not wait for input: it is WORKING" },
    });
    expect((await cancel(id)).body.handoff.outcome).toBe("CANCELED");
    expect(await cancel(id)).toMatchObject({
      status: 409,
      headers: { "x-error-code": "task_ended" },
      body: { error: "the task has ended: CANCELED" },
    });
  });

  it("a task that ended before its end was seen", async ({ reach, answer, service, account }) => {
    const id = await reach("complete", "SUBMITTED");
    const answered = await answer(id, "more");
    expect(answered).toMatchObject({ status: 409, body: { error: "the task has ended: COMPLETED" } });
    expect((await untilEnded(service, account, id)).handoff.outcome).toBe("COMPLETED");
  });

  it("an item that the agent has not accepted yet", async ({ service, account, agent, answer, cancel }) => {
    const held = await createAgentTarget(service, account, agent.cardUrl);
    const key = account.api_key;
    await service.call("PATCH", `/api/v1/targets/${held}`, { key, body: { enabled: false } });
    const id = await sendItem(service, account, held);
    for (const refused of [await answer(id, "hello?"), await cancel(id)])
      expect([refused.status, refused.headers["x-error-code"]]).toEqual([409, "task_not_begun"]);
  });

  it("an item of another kind, of another organization, or unknown", async ({
    service,
    account,
    cancel,
    reach,
  }) => {
    const webhook = await createWebhookTarget(service, account, "http://127.0.0.1:9/");
    const item = await sendItem(service, account, webhook.id);
    expect((await cancel(item)).status).toBe(409);
    const id = await reach("hang", "WORKING");
    const stranger = await signUp(service);
    expect((await cancel(id, stranger.api_key)).status).toBe(404);
    expect((await cancel("0".repeat(32))).status).toBe(404);
    expect((await cancel("nonsense")).status).toBe(404);
    await cancel(id);
  });

  it("an agent that does not answer", async ({ reach, agent, cancel }) => {
    const id = await reach("hang", "WORKING");
    await agent.kill();
    expect(await cancel(id)).toMatchObject({
      status: 502,
      body: { error: "the agent did not show its task: connection refused" },
    });
    await agent.restart();
  });

  it("a cancellation that the agent refuses, and one that it was not asked for", async ({
    service,
    account,
    cards,
    cancel,
  }) => {
    const task = { id: "t1", status: { state: "TASK_STATE_WORKING" } };
    const notCancelable = { reason: "TASK_NOT_CANCELABLE", domain: "a2a-protocol.org" };
    let refused: [status: number, reason?: object] = [500];
    cards.answer = (response) => {
      const { method, url } = response.req;
      if (url === "/card.json") answerJson(response, wholeCard(`${cards.origin}/a2a`));
      else if (!url!.endsWith(":cancel")) answerJson(response, method === "POST" ? { task } : task);
      else {
        response.writeHead(refused[0], { "content-type": "application/json", location: "/elsewhere" });
        response.end(JSON.stringify({ error: { message: "no", details: [refused[1] ?? {}] } }));
      }
    };
    const id = await sendItem(
      service,
      account,
      await createAgentTarget(service, account, cards.url),
      "begin",
    );
    await untilHandedOver(service, account, id, ({ handoff }) => handoff?.state === "WORKING");
    const version = { reason: "VERSION_NOT_SUPPORTED", domain: "a2a-protocol.org" };
    const notAsked: (typeof refused)[] = [[302], [401], [403], [408], [410], [429], [503], [400, version]];
    for (const answer of notAsked) {
      refused = answer;
      const { status, body } = await cancel(id);
      expect([answer, status, body]).toEqual([
        answer,
        502,
        {
          error: expect.stringMatching(`^the agent did not cancel the task: the agent answered ${answer[0]}`),
        },
      ]);
    }
    const cannot: (typeof refused)[] = [[400, notCancelable], [400], [404], [405], [409], [501]];
    for (const answer of cannot) {
      refused = answer;
      const { status, headers, body } = await cancel(id);
      expect([answer, status, headers["x-error-code"], body]).toEqual([
        answer,
        409,
        "task_not_cancelable",
        { error: expect.stringMatching(`^the task cannot be canceled: the agent answered ${answer[0]}`) },
      ]);
    }
  });

  it("an answer while any process sends another one", async ({ service, other, account, cards, answer }) => {
    const task = { id: "t1", status: { state: "TASK_STATE_INPUT_REQUIRED" } };
    const arrived = Promise.withResolvers<void>();
    const release = Promise.withResolvers<void>();
    cards.answer = (response) => {
      const { method, url } = response.req;
      if (url === "/card.json") return answerJson(response, wholeCard(`${cards.origin}/a2a`));
      return answerJson(response, method === "GET" ? task : { task });
    };
    const targetId = await createAgentTarget(service, account, cards.url);
    const id = await sendItem(service, account, targetId, "begin");
    await untilHandedOver(service, account, id, ({ handoff }) => handoff?.state === "INPUT_REQUIRED");
    cards.answer = (response) => {
      const { method, url } = response.req;
      if (method === "GET") return answerJson(response, task);
      if (url!.endsWith(":cancel")) return answerJson(response, { ...task, metadata: { asked: true } });
      arrived.resolve();
      void release.promise.then(() => answerJson(response, { task }));
    };
    const askOther = (what: string): Promise<Answer> =>
      other.call("POST", `/api/v1/events/${id}/handoff/${what}`, { key: account.api_key, body: "red" });
    const first = answer(id, "the blue one");
    await arrived.promise;
    const refused = [await answer(id, "the red one"), await askOther("message")];
    expect((await askOther("cancel")).status).toBe(200);
    refused.push(await askOther("message"));
    release.resolve();
    for (const { status, headers } of refused)
      expect([status, headers["x-error-code"]]).toEqual([409, "task_being_answered"]);
    expect((await first).status).toBe(200);
    expect((await askOther("message")).status).toBe(200);
  });

  it("neither an answer nor a cancellation that the agent takes with an unreadable answer", async ({
    service,
    account,
    cards,
    answer,
    cancel,
  }) => {
    let shown: object = { id: "t1", status: { state: "TASK_STATE_INPUT_REQUIRED" } };
    let taken: object | string = { task: shown };
    const asked: string[] = [];
    cards.answer = (response) => {
      const { method, url } = response.req;
      if (url === "/card.json") return answerJson(response, wholeCard(`${cards.origin}/a2a`));
      if (method === "GET") return answerJson(response, shown);
      asked.push(url!);
      return answerJson(response, taken);
    };
    const targetId = await createAgentTarget(service, account, cards.url);
    const id = await sendItem(service, account, targetId, "begin");
    await untilHandedOver(service, account, id, ({ handoff }) => handoff?.state === "INPUT_REQUIRED");
    taken = "thanks";
    expect((await answer(id, "yes")).status).toBe(200);
    shown = { id: "t1", status: { state: "working" } };
    expect(await answer(id, "yes")).toMatchObject({
      status: 502,
      body: { error: "the agent's answer has no task state at $.status.state" },
    });
    expect((await cancel(id)).status).toBe(200);
    expect(asked).toEqual(["/a2a/message:send", "/a2a/message:send", "/a2a/tasks/t1:cancel"]);
  });
});
