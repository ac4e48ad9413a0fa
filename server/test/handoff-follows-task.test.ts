import { describe, expect } from "vitest";
import { startAgent } from "./support/agent/startAgent.ts";
import { createAgentTarget, type HandoffView, untilEnded, untilHandedOver } from "./support/agentTargets.ts";
import { acceptedEvents, createMailboxTarget, sendItem } from "./support/items.ts";
import { file, sharedServiceTest } from "./support/fixtures.ts";

const it = sharedServiceTest()
  .extend("agent", file, async ({}, { onCleanup }) => {
    const agent = await startAgent({ tenant: "blue team" });
    onCleanup(() => agent.kill());
    return agent;
  })
  .extend("targetId", file, ({ service, account, agent }) =>
    createAgentTarget(service, account, agent.cardUrl),
  )
  /** Hands one item over and waits until the task has ended. */
  .extend("run", file, ({ service, account, targetId, agent }) => async (payload: unknown) => {
    const id = await sendItem(service, account, targetId, payload);
    const seen = await untilEnded(service, account, id);
    const message = (await agent.messages()).find(({ body }) => body?.message?.messageId === id);
    return { id, ...seen, message: message! };
  });

it("a list has the handoffs that agents have accepted, if the caller asks for them", async ({
  service,
  account,
  targetId,
  run,
}) => {
  const { id, handoff } = await run("complete Booked");
  const mailbox = await createMailboxTarget(service, account);
  const message = await sendItem(service, account, mailbox);
  const list = async (query: string) =>
    (await service.call("GET", `/api/v1/events?${query}`, { key: account.api_key })).body.events;
  const { task_id, state, status_message, outcome, possible_duplicate, updated_at } =
    handoff as HandoffView & {
      updated_at: number;
    };
  expect((await list(`target_id=${targetId}&fields=handoff`))[0]).toMatchObject({
    id,
    handoff: { task_id, state, status_message, outcome, possible_duplicate, updated_at },
  });
  expect(outcome).toBe("COMPLETED");
  expect((await list(`target_id=${mailbox}&fields=handoff`))[0]).toMatchObject({
    id: message,
    handoff: null,
  });
  expect((await list(`target_id=${targetId}`))[0]).not.toHaveProperty("handoff");
});

describe("an item becomes a message", () => {
  it("as data, byte for byte, with its description as metadata", async ({
    service,
    targetId,
    account,
    agent,
  }) => {
    const answer = await service.call("POST", `/t/${targetId}`, {
      key: account.api_key,
      payload: '{"event_type":"order.created","n":12345678901234567890,"x":1.0}',
      headers: { "x-correlation-id": "c-1" },
    });
    const id = answer.body.id as string;
    const seen = await untilEnded(service, account, id);
    expect(seen).toMatchObject({
      event: { status: "DELIVERED" },
      handoff: { state: "COMPLETED", outcome: "COMPLETED", status_message: "done" },
    });
    const message = (await agent.messages()).find(({ body }) => body?.message?.messageId === id)!;
    expect(message).toMatchObject({
      path: "/blue%20team/message:send",
      version: "1.0",
      authorization: null,
      body: {
        tenant: "blue team",
        configuration: { returnImmediately: true },
        message: {
          role: "ROLE_USER",
          parts: [{ data: { event_type: "order.created" }, mediaType: "application/json" }],
          metadata: { event_id: id, event_type: "order.created", correlation_id: "c-1" },
        },
      },
    });
    expect(message.body!.message).not.toHaveProperty("taskId");
    const key = account.api_key;
    const { body: replay } = await service.call("POST", `/api/v1/events/${id}/replay`, { key });
    await untilEnded(service, account, replay.id);
    const again = (await agent.messages()).find(({ body }) => body?.message?.messageId === replay.id)!;
    expect(again.body!.message).toMatchObject({ metadata: { event_id: replay.id, source_event_id: id } });
  });

  it.for([["complete"], [{ text: "complete" }], [{ text: "complete", event_type: "greeting" }]] as const)(
    "as text when it is %j",
    async ([payload], { run }) => {
      const { message } = await run(payload);
      expect(message.body!.message!.parts).toEqual([{ text: "complete", mediaType: "text/plain" }]);
    },
  );

  it("unchanged when it already is a message, except for its id", async ({ run }) => {
    const { id, message } = await run({
      role: "ROLE_USER",
      messageId: "mine",
      parts: [{ text: "complete" }, { url: "https://example.com/a.png", mediaType: "image/png" }],
      metadata: { own: true },
      extensions: ["urn:test:extension", "urn:unknown"],
    });
    expect(message.extensions).toBe("urn:test:extension");
    expect(message.body!.message).toEqual({
      role: "ROLE_USER",
      messageId: id,
      parts: [{ text: "complete" }, { url: "https://example.com/a.png", mediaType: "image/png" }],
      metadata: { own: true, original_message_id: "mine", event_id: id },
      extensions: ["urn:test:extension", "urn:unknown"],
    });
  });
});

describe("the outcome of a task", () => {
  it("is shown separately from the delivery, while the agent works and at the end", async ({
    service,
    account,
    targetId,
    agent,
  }) => {
    const id = await sendItem(service, account, targetId, "slow 6000");
    const working = await untilHandedOver(
      service,
      account,
      id,
      ({ handoff }) => handoff?.state === "WORKING",
    );
    expect(working).toMatchObject({
      event: { status: "DELIVERED", retry_count: 0 },
      delivery_attempts: [{ status_code: 200, error: null }],
      handoff: { outcome: null, status_message: "thinking", error: null, possible_duplicate: false },
    });
    const ended = await untilEnded(service, account, id);
    expect(ended.handoff).toMatchObject({
      task_id: working.handoff!.task_id,
      outcome: "COMPLETED",
      artifacts: [{ name: "echo", parts: [{ text: "slow 6000" }] }],
      artifacts_truncated: false,
    });
    expect(ended.delivery_attempts).toHaveLength(1);
    expect((await agent.messages()).filter(({ body }) => body?.message?.messageId === id)).toHaveLength(1);
  });

  it.for([
    ["fail", "FAILED", "it broke"],
    ["reject", "REJECTED", "not my kind of work"],
  ] as const)("%s: the item was delivered in any case", async ([order, outcome, text], { run }) => {
    const { event, handoff } = await run(order);
    expect(event.status).toBe("DELIVERED");
    expect(handoff).toMatchObject({ state: outcome, outcome, status_message: text });
  });

  it("is the message when the agent answers with a message instead of a task", async ({ run }) => {
    const { event, handoff } = await run("message");
    expect(event.status).toBe("DELIVERED");
    expect(handoff).toMatchObject({
      task_id: null,
      state: null,
      outcome: "COMPLETED",
      status_message: "no task is needed",
      status_parts: [{ text: "no task is needed" }],
    });
  });

  it("contains the parts of large artifacts that fit", async ({ run }) => {
    const { handoff } = await run("large 200000");
    expect(handoff.artifacts_truncated).toBe(true);
    expect(handoff.artifacts[0]!.parts).toMatchObject([{ text: "large 200000" }]);
  });

  it("costs one item, whatever it is", async ({ service, account, run }) => {
    const before = await acceptedEvents(service, account);
    await run("fail");
    expect(await acceptedEvents(service, account)).toBe(before + 1);
  });
});
