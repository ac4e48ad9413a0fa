import { expect } from "vitest";
import { startedNodeTest } from "./support/fixtures.ts";
import { createMailbox } from "./support/mailbox.ts";
import { until } from "./support/until.ts";

const it = startedNodeTest({ POSTRIDER_ROLES: "api" });

it.for(["dispatcher", "maintenance"])(
  "a long poll at a process of the role %s is answered by an item that another process accepts",
  async (role, { node, newNode }) => {
    const box = await createMailbox(node);
    const { api_key: key } = box.account;
    const polled = newNode({ POSTRIDER_ROLES: role });
    const claim = polled.call("POST", `/api/v1/mailboxes/${box.id}/claim`, {
      key,
      body: { wait_seconds: 20 },
    });
    await until(
      () => polled.service.mailboxes.waiting(),
      (count) => count === 1,
    );
    const sent = await node.call("POST", `/t/${box.id}`, { key, body: { hello: 1 } });
    expect((await claim).body.messages).toMatchObject([{ id: sent.body.id }]);
  },
);

it("metrics show the roles of a process, so that a sum of 0 reveals a role that no process has", async ({
  newNode,
}) => {
  const started = newNode({ POSTRIDER_ROLES: "api,dispatcher" });
  const text = await (await fetch(`${await started.listen()}/metrics`)).text();
  expect(
    [...text.matchAll(/^postrider_processes_with_role\{role="(\w+)"\} (\d)$/gm)].map(([, ...of]) => of),
  ).toEqual([
    ["api", "1"],
    ["dispatcher", "1"],
    ["maintenance", "0"],
  ]);
});
