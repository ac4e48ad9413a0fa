import { expect } from "vitest";
import { file, sharedStartedNodeTest } from "./support/fixtures.ts";
import { createMailboxTarget, createWebhookTarget, sendItem } from "./support/items.ts";
import { answerOk } from "./support/receiver.ts";
import { type Answer, signUp } from "./support/testNode.ts";
import { until } from "./support/until.ts";

const it = sharedStartedNodeTest().extend(
  "healths",
  file,
  ({ node, account }) =>
    (ids: string, key: string = account.api_key): Promise<Answer> =>
      node.call("GET", `/api/v1/target-health?ids=${ids}`, { key }),
);

it("returns the same health for each target as its own route, with its last hours, in the order of ids", async ({
  node,
  account,
  receiver,
  healths,
}) => {
  receiver.answer = ({ path }, response) => void response.writeHead(path === "/bad" ? 500 : 200).end();
  const { id: good } = await createWebhookTarget(node, account, `${receiver.url}/good`);
  const { id: bad } = await createWebhookTarget(node, account, `${receiver.url}/bad`);
  const mailbox = await createMailboxTarget(node, account);
  for (const id of [good, bad, mailbox]) await sendItem(node, account, id);
  const key = account.api_key;
  const { body } = await until(
    () => healths([mailbox, bad, good].join(",")),
    ({ body: { targets } }) =>
      targets[0].hours.length === 1 &&
      targets[0].in_flight === 0 &&
      targets[1].failing_since !== null &&
      targets[1].in_flight === 0,
  );
  expect(body.targets.map((one: { target_id: string }) => one.target_id)).toEqual([good, bad, mailbox]);
  for (const { hours, ...health } of body.targets) {
    const alone = await node.call("GET", `/api/v1/targets/${health.target_id}/health`, { key });
    expect(health).toEqual({ ...alone.body, ...changing(health) });
    expect(hours.length).toBe(health.target_id === mailbox ? 0 : 1);
  }
  expect(body.targets[0].hours[0]).toMatchObject({ delivered: 1, retried: 0, failed: 0 });
  expect(body.targets[1].hours[0]).toMatchObject({ delivered: 0, retried: 1, failed: 0 });
  expect(body.targets[2]).toMatchObject({ kind: "mailbox", ready: 1, dead: 0 });

  // The list of targets shows which targets fail, and since when, without another request.
  const { body: list } = await node.call("GET", "/api/v1/targets", { key });
  const since = new Map(
    list.targets.map((one: { id: string; failing_since?: number }) => [one.id, one.failing_since]),
  );
  expect([since.get(good), since.get(mailbox)]).toEqual([undefined, undefined]);
  expect(since.get(bad)).toBe(body.targets[1].failing_since);
  receiver.answer = answerOk;
});

/** Fields that change with the clock between two answers. */
function changing(health: Record<string, unknown>): Record<string, unknown> {
  const names = [
    "oldest_due_seconds",
    "oldest_ready_seconds",
    "accepted_per_minute",
    "acknowledged_per_minute",
    "due",
  ];
  return Object.fromEntries(names.filter((name) => name in health).map((name) => [name, health[name]]));
}

it("omits targets of other organizations, and refuses what is not a list of ids", async ({
  node,
  account,
  receiver,
  healths,
}) => {
  const { id } = await createWebhookTarget(node, account, `${receiver.url}/good`);
  const other = await signUp(node);
  expect((await healths(id, other.api_key)).body).toEqual({ targets: [] });
  expect((await healths(`${id},${"0".repeat(32)}`)).body.targets).toHaveLength(1);
  for (const wrong of [
    "",
    "x",
    `${id};${id}`,
    Array.from({ length: 101 }, (_, n) => n.toString(16).padStart(32, "0")).join(","),
  ]) {
    const { status, body } = await healths(wrong);
    expect([status, body.error]).toEqual([400, expect.stringMatching(/^ids must/)]);
  }
});
