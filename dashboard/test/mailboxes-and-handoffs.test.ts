import { afterAll, beforeAll, expect, it } from "vitest";
import { type Agent, startAgent } from "../../server/test/support/agent/startAgent.ts";
import { createAgentTarget, untilHandedOver } from "../../server/test/support/agentTargets.ts";
import { sendItem } from "../../server/test/support/items.ts";
import type { Account } from "../../server/test/support/testNode.ts";
import { type Dashboard, startDashboard } from "./support/dashboard.ts";

let dashboard: Dashboard;
let agent: Agent;
let account: Account;

beforeAll(async () => {
  [dashboard, agent] = await Promise.all([startDashboard(), startAgent()]);
  account = await dashboard.newAccount();
});

afterAll(async () => {
  await dashboard.stop();
  await agent.kill();
});

async function newMailbox(name: string): Promise<string> {
  const { body } = await dashboard.service.call("POST", "/api/v1/targets", {
    key: account.api_key,
    body: { kind: "mailbox", name },
  });
  return body.id;
}

async function claim(mailboxId: string): Promise<{ id: string; claim_token: string }> {
  const { body } = await dashboard.service.call("POST", `/api/v1/mailboxes/${mailboxId}/claim`, {
    key: account.api_key,
    body: { max: 1 },
  });
  const [{ id, claim_token: token }] = body.messages;
  return { id, claim_token: token };
}

it("shows who holds a message and for how long, and changes nothing by looking", async () => {
  const mailboxId = await newMailbox("looked at");
  await sendItem(dashboard.service, account, mailboxId, { event_type: "ticket.opened", ticket: 1 });
  await claim(mailboxId);
  const { page, problems } = await dashboard.openAs(account);
  await page.goto(`/mailboxes/${mailboxId}`);
  await page.getByRole("button", { name: /CLAIMED/ }).click();
  const drawer = page.getByRole("dialog");
  await drawer.getByText("Held by").waitFor();
  await drawer.getByText("default").waitFor();
  await drawer.getByText(/4 min \d+ s/).waitFor();
  await drawer.getByText(`"ticket":`).waitFor();
  const { body } = await dashboard.service.call("GET", `/api/v1/mailboxes/${mailboxId}/stats`, {
    key: account.api_key,
  });
  expect(body).toMatchObject({ claimed: 1, ready: 0 });
  expect(problems).toEqual([]);
});

it("brings dead letters back", async () => {
  const mailboxId = await newMailbox("dead letters");
  await sendItem(dashboard.service, account, mailboxId, { event_type: "ticket.opened" });
  const message = await claim(mailboxId);
  await dashboard.service.call("POST", `/api/v1/mailboxes/${mailboxId}/reject`, {
    key: account.api_key,
    body: { messages: [message], reason: "the customer is unknown" },
  });
  const { page, problems } = await dashboard.openAs(account);
  await page.goto("/?skip=1");
  await page.getByRole("link", { name: "dead letters: 1 dead message" }).click();
  await page.getByRole("button", { name: /DEAD/ }).click();
  await page.getByText("the customer is unknown").waitFor();
  await page.getByRole("dialog").getByRole("button", { name: "Redrive" }).click();
  await page.getByText("Brought back; it can be claimed again.").waitFor();
  await expect
    .poll(async () => {
      const { body } = await dashboard.service.call("GET", `/api/v1/mailboxes/${mailboxId}/stats`, {
        key: account.api_key,
      });
      return body.ready;
    })
    .toBe(1);
  expect(problems).toEqual([]);
});

it("answers an agent that asks for input", async () => {
  const targetId = await createAgentTarget(dashboard.service, account, agent.cardUrl, { name: "planner" });
  const id = await sendItem(dashboard.service, account, targetId, "input Which day?");
  await untilHandedOver(dashboard.service, account, id, ({ handoff }) => handoff?.state === "INPUT_REQUIRED");
  const { page, problems } = await dashboard.openAs(account);
  await page.goto("/?skip=1");
  await page.getByRole("link", { name: "planner waits for your answer" }).click();
  await page.getByLabel("The agent waits for your answer").fill("Friday at eight");
  await page.getByRole("button", { name: "Send the answer" }).click();
  await page.getByText("Completed").first().waitFor();
  await page.getByText("Friday at eight").first().waitFor();
  expect(problems).toEqual([]);
});
