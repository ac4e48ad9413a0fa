import { expect, onTestFinished } from "vitest";
import { sharedNodeTest } from "./support/fixtures.ts";
import { connectAgent } from "./support/mcpClients.ts";
import { storeMailboxTargets } from "./support/storedItems.ts";
import { signUp } from "./support/testNode.ts";

const it = sharedNodeTest();

it("list_targets has a hundred targets per page, and those of a kind", async ({ node, url, pool }) => {
  const owner = await signUp(node);
  await storeMailboxTargets(pool, owner.user.org_id, 150);
  const agent = await connectAgent("HTTP", url, owner.api_key);
  onTestFinished(() => agent.close());
  const { targets } = await agent.use("list_targets", { kind: "mailbox" });
  expect(targets).toHaveLength(100);
  const { targets: rest } = await agent.use("list_targets", { after: targets.at(-1).id });
  expect(new Set([...targets, ...rest].map(({ id }) => id)).size).toBe(150);
  expect((await agent.use("list_targets", { kind: "webhook" })).targets).toEqual([]);
});
