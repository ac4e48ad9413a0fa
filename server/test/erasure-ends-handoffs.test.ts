import { expect } from "vitest";
import { createAgentTarget, readHandedOver, untilEnded, untilHandedOver } from "./support/agentTargets.ts";
import { sendItem } from "./support/items.ts";
import { createMailbox } from "./support/mailbox.ts";
import { placesOfText } from "./support/placesOfText.ts";
import { until } from "./support/until.ts";
import { sharedStartedNodeTest } from "./support/fixtures.ts";
import type { Organization } from "./support/organization.ts";
import { forgetResults } from "./support/storedStates.ts";
import { countRows } from "./support/unseenRows.ts";

/* An agent's answers to an erased item are erased with it, and its later answers are not stored. */

const it = sharedStartedNodeTest()
  /** A mailbox, and an agent target that sends its results there. */
  .extend("resulting", async ({ node, account, agent }) => {
    const box = await createMailbox(node, {}, account);
    const target = await createAgentTarget(node, account, agent.cardUrl, { result_target_id: box.id });
    return { box, target };
  });

const erase = ({ call }: Organization, id: string) => call("POST", `/api/v1/events/${id}/erase`);

it("a task that has ended loses its messages and artifacts, and its result item is erased", async ({
  node,
  account,
  resulting: { box, target },
  organization,
}) => {
  const words = "erase-result-1";
  const id = await sendItem(node, account, target, { do: "complete", words });
  await untilEnded(node, account, id);
  const [result] = await until(
    () => box.list(),
    (messages) => messages.length > 0,
  );
  expect(await placesOfText(node.pool, words)).toEqual(
    expect.arrayContaining(["events.payload", "handoffs.artifacts"]),
  );
  expect((await erase(organization, id)).body).toMatchObject({ status: "DONE", total: 2, erased: 2 });
  expect(await placesOfText(node.pool, words)).toEqual([]);
  const { event, handoff } = await readHandedOver(node, account, id);
  expect(event.status).toBe("DELIVERED");
  expect(handoff).toMatchObject({
    outcome: "COMPLETED",
    status_message: null,
    status_parts: [],
    artifacts: [],
    error: "the event was erased",
  });
  expect(handoff!.task_id).not.toBe(null);
  const { event: ofResult } = await readHandedOver(node, account, result!.id);
  expect(ofResult.status).toBe("CANCELED");
});

it("the result of a task ended by an older version, which does not name the result, is found as well", async ({
  node,
  account,
  resulting: { box, target },
  organization,
}) => {
  const words = "erase-result-of-old";
  const ids = [await sendItem(node, account, target, { do: "complete", words })];
  ids.push(await sendItem(node, account, target, { do: "complete", words: "of another" }));
  for (const id of ids) await untilEnded(node, account, id);
  await until(
    () => box.list(),
    (messages) => messages.length === 2,
  );
  await forgetResults(node.pool, ids);
  expect((await erase(organization, ids[0]!)).body).toMatchObject({ status: "DONE", total: 2, erased: 2 });
  expect(await placesOfText(node.pool, words)).toEqual([]);
  expect(await box.list()).toHaveLength(1);
});

it("a task that is in progress is no longer followed", async ({ node, account, agent, organization }) => {
  const words = `erase-task-${Date.now()}`;
  const target = await createAgentTarget(node, account, agent.cardUrl);
  const id = await sendItem(node, account, target, { do: "slow 20000", words });
  await untilHandedOver(node, account, id, ({ handoff }) => handoff?.status_message === "thinking");
  expect((await erase(organization, id)).body).toMatchObject({ status: "DONE", erased: 1 });
  const after = await sendItem(node, account, target, { do: "slow 2500" });
  await untilEnded(node, account, after);
  const { handoff } = await readHandedOver(node, account, id);
  expect(handoff).toMatchObject({ outcome: "UNKNOWN", status_message: null, artifacts: [] });
  expect(await placesOfText(node.pool, words)).toEqual([]);
  expect(await countRows(node.pool, "handoff_polls", { event_id: id })).toBe(0);
});

it("an answer that arrives after the erasure is not stored", async ({
  node,
  account,
  agent,
  organization,
}) => {
  const words = "erase-answer-3";
  const target = await createAgentTarget(node, account, agent.cardUrl);
  agent.freeze();
  const id = await sendItem(node, account, target, { do: "complete", words });
  // A handoff is shown once the agent has answered.
  await until(
    () => countRows(node.pool, "handoffs", { event_id: id }),
    (count) => count === 1,
  );
  expect((await erase(organization, id)).body).toMatchObject({ status: "DONE", erased: 1 });
  agent.thaw();
  await until(
    () => agent.messages(),
    (messages) => messages.some(({ body }) => body?.message?.metadata["event_id"] === id),
  );
  const after = await sendItem(node, account, target, { do: "complete" });
  await untilEnded(node, account, after);
  expect(await readHandedOver(node, account, id)).toMatchObject({
    event: { status: "CANCELED" },
    delivery_attempts: [],
    handoff: null,
  });
  expect(await placesOfText(node.pool, words)).toEqual([]);
});
