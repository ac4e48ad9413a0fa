import { describe, expect, onTestFinished } from "vitest";
import { createMailboxTarget } from "./support/items.ts";
import { file, sharedStartedNodeTest } from "./support/fixtures.ts";
import { type Agent, connectAgent, type Transport } from "./support/mcpClients.ts";

const it = sharedStartedNodeTest()
  /** Connects an agent, which is disconnected when its test ends. */
  .extend("connect", file, ({ node, account }) => async (way: Transport): Promise<Agent> => {
    const agent = await connectAgent(way, await node.listen(), account.api_key);
    onTestFinished(() => agent.close());
    return agent;
  })
  .extend("mailbox", ({ node, account }) => createMailboxTarget(node, account))
  .extend(
    "send",
    ({ node, account, mailbox }) =>
      (body: unknown): Promise<{ body: { id: string } }> =>
        node.call("POST", `/t/${mailbox}`, { key: account.api_key, body }),
  );

describe("two agents that share a mailbox", () => {
  it("finish every message once, although one agent is killed", async ({
    mailbox,
    connect,
    send,
    node,
    account,
  }) => {
    const sent = await Promise.all(Array.from({ length: 30 }, (_, job) => send(job)));
    const done: string[] = [];
    const killed = await connect("stdio");
    const other = await connect("HTTP");
    const lease_seconds = 5;
    async function work(agent: Agent, count: number): Promise<void> {
      while (done.length < count) {
        const { messages } = await agent.use("claim_messages", {
          mailbox_id: mailbox,
          max: 3,
          wait_seconds: 20,
          lease_seconds,
        });
        if (messages.length === 0) continue;
        const claims = messages.map(({ id, claim_token }: Record<string, string>) => ({ id, claim_token }));
        const { results } = await agent.use("ack_messages", { mailbox_id: mailbox, messages: claims });
        done.push(...results.map(({ id }: { id: string }) => id));
      }
    }
    await work(killed, 6);
    // The agent is killed while it holds three messages and waits for more.
    await killed.use("claim_messages", { mailbox_id: mailbox, max: 3, lease_seconds });
    process.kill(killed.pid!, "SIGKILL");
    await work(other, 30);
    expect(done.sort()).toEqual(sent.map(({ body }) => body.id).sort());
    const { body } = await node.call("GET", `/api/v1/mailboxes/${mailbox}/stats`, { key: account.api_key });
    expect(body).toMatchObject({ ready: 0, claimed: 0, dead: 0 });
  });

  it("leave no message claimed when one agent ends while it waits", async ({ mailbox, connect, send }) => {
    const [ending, other] = [await connect("stdio"), await connect("HTTP")];
    ending.use("claim_messages", { mailbox_id: mailbox, wait_seconds: 20 }).catch(() => undefined);
    await ending.use("mailbox_stats", { mailbox_id: mailbox });
    await ending.close();
    await send("for the other");
    const input = { mailbox_id: mailbox, wait_seconds: 20 };
    expect((await other.use("claim_messages", input)).messages).toHaveLength(1);
  });
});
