import { expect } from "vitest";
import { createMailbox } from "./support/mailbox.ts";
import { createTestNode } from "./support/testNode.ts";
import { until } from "./support/until.ts";
import { file, nodeTest } from "./support/fixtures.ts";

const it = nodeTest({ POSTRIDER_ROLES: "api" })
  /** The mailbox metrics of a node that was not scraped before. */
  .extend("gauges", file, ({ database }) => async (): Promise<Record<string, number>> => {
    const other = createTestNode(database, { POSTRIDER_ROLES: "api" });
    try {
      const text = String((await other.call("GET", "/metrics")).body);
      const found = text.matchAll(
        /^postrider_mailbox_(?:messages\{state="(\w+)"\}|(oldest)_message_seconds) (\S+)$/gm,
      );
      return Object.fromEntries(
        [...found].map(([, state, oldest, value]) => [state ?? oldest, Number(value)]),
      );
    } finally {
      await other.stop();
    }
  });

it("metrics show how many messages all mailboxes hold in each state, and the age of the oldest", async ({
  gauges,
  node,
}) => {
  expect(await gauges()).toEqual({ unread: 0, claimed: 0, dead: 0, oldest: 0 });
  const [one, other] = [await createMailbox(node), await createMailbox(node)];
  const first = await one.send({});
  for (let n = 0; n < 9; n++) await (n % 2 ? one : other).send({});
  const claim = (await one.post("claim", { max: 3 })).body.messages;
  await one.post("ack", { messages: claim.slice(1, 2) });
  await one.post("reject", { messages: claim.slice(2), reason: "no" });
  expect(claim[0].id).toBe(first);
  const seen = await until(gauges, ({ oldest }) => oldest! > 0);
  expect(seen).toMatchObject({ unread: 7, claimed: 1, dead: 1, oldest: expect.closeTo(5, -1) });
});
