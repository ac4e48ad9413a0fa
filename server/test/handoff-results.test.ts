import { describe, expect } from "vitest";
import { createAgentTarget, requestAgentTarget, untilEnded } from "./support/agentTargets.ts";
import {
  acceptedEvents,
  createMailboxTarget,
  createWebhookTarget,
  readEvent,
  sendItem,
} from "./support/items.ts";
import { type Account, signUp } from "./support/testNode.ts";
import { until } from "./support/until.ts";
import { file, sharedServiceTest } from "./support/fixtures.ts";

const it = sharedServiceTest()
  .extend(
    "createMailbox",
    file,
    ({ account, service }) =>
      (owner: Account = account, fields: Record<string, unknown> = {}): Promise<string> =>
        createMailboxTarget(service, owner, fields),
  )
  .extend(
    "claimAll",
    file,
    ({ service, account }) =>
      async (mailboxId: string): Promise<{ id: string; payload: Record<string, unknown> }[]> => {
        const { body } = await service.call("POST", `/api/v1/mailboxes/${mailboxId}/claim`, {
          key: account.api_key,
          body: { max: 10 },
        });
        return body.messages as { id: string; payload: Record<string, unknown> }[];
      },
  );

describe("the end of a task", () => {
  it("becomes a message of the mailbox that its target names, once and free of charge", async ({
    createMailbox,
    service,
    account,
    agent,
    claimAll,
  }) => {
    const mailboxId = await createMailbox();
    const targetId = await createAgentTarget(service, account, agent.cardUrl, {
      result_target_id: mailboxId,
    });
    const before = await acceptedEvents(service, account);
    const { body } = await service.call("POST", `/t/${targetId}`, {
      key: account.api_key,
      body: { do: "complete", event_type: "question" },
      headers: { "x-correlation-id": "q-17" },
    });
    const id = body.id as string;
    const { handoff } = await untilEnded(service, account, id);
    const messages = await until(
      () => claimAll(mailboxId),
      (claimed) => claimed.length > 0,
    );
    expect(messages).toHaveLength(1);
    expect(messages[0]).toMatchObject({
      event_type: "handoff.completed",
      correlation_id: "q-17",
      payload: {
        event_type: "handoff.completed",
        event_id: id,
        target_id: targetId,
        correlation_id: "q-17",
        source_event_type: "question",
        outcome: "COMPLETED",
        task_id: handoff.task_id,
        status_message: "done",
        artifacts: [{ name: "echo", parts: [{ data: { do: "complete" } }] }],
      },
    });
    expect(await acceptedEvents(service, account)).toBe(before + 1);
    const { event } = await readEvent(service, account, messages[0]!.id);
    expect(event).toMatchObject({ is_replay: 0, source_event_id: null });
    expect(await claimAll(mailboxId)).toEqual([]);
  });

  it("is sent to a webhook signed like any item, whatever the outcome", async ({
    service,
    account,
    receiver,
    agent,
  }) => {
    const webhook = await createWebhookTarget(service, account, `${receiver.url}/results`);
    const targetId = await createAgentTarget(service, account, agent.cardUrl);
    const changed = await service.call("PATCH", `/api/v1/targets/${targetId}`, {
      key: account.api_key,
      body: { result_target_id: webhook.id },
    });
    expect(changed.body.result_target_id).toBe(webhook.id);
    for (const order of ["fail", "message"]) await sendItem(service, account, targetId, order);
    const received = await receiver.arrivals(2, { path: "/results" });
    const types = new Set(received.map(({ headers }) => headers["x-event-type"]));
    expect(types).toEqual(new Set(["handoff.completed", "handoff.failed"]));
    for (const one of received) {
      expect(one.headers["webhook-signature"]).toMatch(/^v1,/);
      expect(JSON.parse(one.body.toString())).toMatchObject({ target_id: targetId });
    }
    const stats = `/api/v1/stats?target_id=${webhook.id}`;
    await until(
      async () => (await service.call("GET", stats, { key: account.api_key })).body.totals,
      (totals) => totals.delivered === 2 && totals.accepted === 2,
    );
  });

  it("is filtered when the webhook does not accept its type", async ({
    service,
    account,
    receiver,
    agent,
  }) => {
    const webhook = await createWebhookTarget(service, account, `${receiver.url}/filtered`, {
      event_types: ["handoff.failed"],
    });
    const targetId = await createAgentTarget(service, account, agent.cardUrl, {
      result_target_id: webhook.id,
    });
    await sendItem(service, account, targetId, "complete");
    await sendItem(service, account, targetId, "fail");
    await receiver.arrivals(1, { path: "/filtered" });
    const { body } = await until(
      () => service.call("GET", `/api/v1/events?target_id=${webhook.id}`, { key: account.api_key }),
      ({ body: seen }) => seen.events.length === 2,
    );
    const statuses = (body.events as { event_type: string; status: string }[]).map(
      ({ event_type: type, status }) => `${type} ${status}`,
    );
    expect(statuses).toContain("handoff.completed FILTERED");
    expect(receiver.received.filter(({ path }) => path === "/filtered")).toHaveLength(1);
  });

  it("is cut to the size limit of its target, without its largest parts", async ({
    createMailbox,
    account,
    service,
    agent,
    claimAll,
  }) => {
    const mailboxId = await createMailbox(account, { max_payload_bytes: 1_000 });
    const targetId = await createAgentTarget(service, account, agent.cardUrl, {
      result_target_id: mailboxId,
    });
    await sendItem(service, account, targetId, { do: "complete", padding: "x".repeat(2_000) });
    const [message] = await until(
      () => claimAll(mailboxId),
      (claimed) => claimed.length > 0,
    );
    expect(message!.payload).toMatchObject({
      outcome: "COMPLETED",
      artifacts: [],
      artifacts_truncated: true,
      status_message: "done",
    });
  });
});

describe("results are not sent", () => {
  it("to an agent, so that no two agents keep each other busy, or to another organization", async ({
    service,
    account,
    agent,
    createMailbox,
  }) => {
    const other = await createAgentTarget(service, account, agent.cardUrl);
    const stranger = await signUp(service);
    for (const id of [other, await createMailbox(stranger), "0".repeat(32)]) {
      const answer = await requestAgentTarget(service, account, {
        agent_card_url: agent.cardUrl,
        result_target_id: id,
      });
      expect(answer.status).toBe(400);
      expect(answer.body.error).toContain("result_target_id must be a mailbox or webhook target");
    }
    const itself = await service.call("PATCH", `/api/v1/targets/${other}`, {
      key: account.api_key,
      body: { result_target_id: other },
    });
    expect(itself.status).toBe(400);
  });

  it("once their target is deleted", async ({ createMailbox, service, account, agent }) => {
    const mailboxId = await createMailbox();
    const targetId = await createAgentTarget(service, account, agent.cardUrl, {
      result_target_id: mailboxId,
    });
    await service.call("DELETE", `/api/v1/targets/${mailboxId}`, { key: account.api_key });
    const id = await sendItem(service, account, targetId, "complete");
    expect((await untilEnded(service, account, id)).handoff.outcome).toBe("COMPLETED");
    const { body } = await service.call("GET", `/api/v1/targets/${targetId}`, { key: account.api_key });
    expect(body.result_target_id).toBeNull();
  });
});
