import { readFile } from "node:fs/promises";
import { afterAll, beforeAll, expect, it, onTestFinished } from "vitest";
import { type Agent, startAgent } from "../../server/test/support/agent/startAgent.ts";
import { createAgentTarget, untilHandedOver } from "../../server/test/support/agentTargets.ts";
import { answerJson, startCardServer, wholeCard } from "../../server/test/support/cardServer.ts";
import { startCardSigner } from "../../server/test/support/signedCards.ts";
import { sendItem } from "../../server/test/support/items.ts";
import { testPool } from "../../server/test/support/fixtures.ts";
import { makePollDue } from "../../server/test/support/passedTime.ts";
import type { Account } from "../../server/test/support/testNode.ts";
import { until } from "../../server/test/support/until.ts";
import { tabTo, untilFocused, visit } from "./support/browser.ts";
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

it("shows who holds a message and for how long; reading it changes nothing", async () => {
  const mailboxId = await newMailbox("looked at");
  await sendItem(dashboard.service, account, mailboxId, { event_type: "ticket.opened", ticket: 1 });
  const { page, problems } = await dashboard.openAs(account);
  await page.goto(`/mailboxes/${mailboxId}`);
  await page.getByRole("button", { name: /UNREAD/ }).click();
  const drawer = page.getByRole("dialog");
  await drawer.getByText("UNREAD").waitFor();
  const claimed = await claim(mailboxId);
  await drawer.getByText("Held by").waitFor();
  await drawer.getByText("default").waitFor();
  await drawer.getByText(/4 min \d+ s/).waitFor();
  await drawer.getByText(`"ticket":`).waitFor();
  const { body } = await dashboard.service.call("GET", `/api/v1/mailboxes/${mailboxId}/stats`, {
    key: account.api_key,
  });
  expect(body).toMatchObject({ claimed: 1, ready: 0 });
  // A message that leaves the list keeps its last state until it is read once more.
  const letGo = Promise.withResolvers<void>();
  await page.route(`**/api/v1/mailbox-messages/${claimed.id}`, async (route) => {
    await letGo.promise;
    await route.continue();
  });
  await dashboard.service.call("POST", `/api/v1/mailboxes/${mailboxId}/ack`, {
    key: account.api_key,
    body: { messages: [claimed] },
  });
  await page.getByText("No waiting messages").waitFor();
  await drawer.getByText("CLAIMED").waitFor();
  letGo.resolve();
  await drawer.getByText("ACKNOWLEDGED").waitFor();
  expect(problems).toEqual([]);
});

it("force-releases a stuck message, then rejects it with a recorded reason", async () => {
  const mailboxId = await newMailbox("stuck");
  const id = await sendItem(dashboard.service, account, mailboxId, { event_type: "ticket.stuck" });
  await claim(mailboxId);
  const { page, problems } = await dashboard.openAs(account);
  await page.goto(`/mailboxes/${mailboxId}`);
  await page.getByRole("button", { name: /CLAIMED/ }).click();
  await page.getByRole("button", { name: "Force release…" }).click();
  await page.getByRole("button", { name: "Force release", exact: true }).click();
  await page.getByText("Released; it can be claimed again.").waitFor();
  expect((await claim(mailboxId)).id).toBe(id);
  await page.getByRole("button", { name: "Reject…" }).click();
  const reject = page.getByRole("button", { name: "Reject", exact: true });
  expect(await reject.isDisabled()).toBe(true);
  await page.getByLabel("Reason").fill("the parcel is back");
  await reject.click();
  await page.getByText("Rejected; the message is dead.").waitFor();
  const drawer = page.getByRole("dialog");
  await drawer.getByText(`Force-rejected by ${account.user.email}`).waitFor();
  await drawer.getByText(`Force-released by ${account.user.email}`).waitFor();
  await drawer.getByText("the parcel is back").first().waitFor();
  await drawer.getByRole("button", { name: "Redrive" }).waitFor();
  expect(problems).toEqual([]);
});

it("offers a too long payload as a download, and shows no data of one message on the next", async () => {
  const mailboxId = await newMailbox("two messages");
  const long = JSON.stringify({ event_type: "ticket.long", text: "x".repeat(300_000) });
  const [first, second] = [
    await sendItem(dashboard.service, account, mailboxId, JSON.parse(long)),
    await sendItem(dashboard.service, account, mailboxId, { event_type: "ticket.short" }),
  ];
  const { page, problems } = await dashboard.openAs(account);
  await page.goto(`/mailboxes/${mailboxId}?open=${second}`);
  const drawer = page.getByRole("dialog", { name: "Message" });
  await drawer.getByRole("heading", { name: "ticket.short" }).waitFor();
  await visit(page, `/mailboxes/${mailboxId}?open=${first}`);
  await drawer.getByText("is too much for a tree", { exact: false }).waitFor();
  const [download] = await Promise.all([
    page.waitForEvent("download"),
    drawer.getByRole("button", { name: "Download" }).click(),
  ]);
  expect(download.suggestedFilename()).toBe(`${first}.json`);
  expect(await readFile(await download.path(), "utf8")).toBe(long);
  await drawer.getByRole("button", { name: "Reject…" }).click();
  await page.getByLabel("Reason").fill("about the long one");
  await page.goBack();
  await drawer.getByRole("heading", { name: "ticket.short" }).waitFor();
  expect(await page.getByLabel("Reason").count()).toBe(0);
  expect(problems).toEqual([]);
});

it("redrives dead messages", async () => {
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
  await page.getByText("Redriven; it can be claimed again.").waitFor();
  await expect
    .poll(async () => {
      const { body } = await dashboard.service.call("GET", `/api/v1/mailboxes/${mailboxId}/stats`, {
        key: account.api_key,
      });
      return body.ready;
    })
    .toBe(1);

  // Another client redrives the message first.
  const again = await claim(mailboxId);
  await dashboard.service.call("POST", `/api/v1/mailboxes/${mailboxId}/reject`, {
    key: account.api_key,
    body: { messages: [again], reason: "unknown still" },
  });
  await page.route("**/redrive", async (route) => {
    await dashboard.service.call("POST", `/api/v1/mailboxes/${mailboxId}/redrive`, {
      key: account.api_key,
      body: { messages: [again.id] },
    });
    await route.fallback();
  });
  await page.getByRole("dialog").getByRole("button", { name: "Redrive" }).click();
  await page.getByText("The message was not dead any more.").waitFor();
  expect(problems).toEqual([]);
});

it("sends operational events to a chosen mailbox, which can be removed again", async () => {
  const mailboxId = await newMailbox("what to look at");
  const watched = await newMailbox("watched");
  const { page, problems } = await dashboard.openAs(account);
  await page.goto("/settings?tab=notifications");
  await page.getByLabel("Notification target").selectOption({ label: "what to look at" });
  await page.getByLabel("a target answers again").uncheck();
  await page.getByRole("button", { name: "Add", exact: true }).click();
  await page.getByText("event.failed, mailbox.message_dead", { exact: false }).waitFor();
  await sendItem(dashboard.service, account, watched, { event_type: "ticket.opened" });
  await dashboard.service.call("POST", `/api/v1/mailboxes/${watched}/reject`, {
    key: account.api_key,
    body: { messages: [await claim(watched)], reason: "the customer is unknown" },
  });
  await visit(page, `/mailboxes/${mailboxId}`);
  await page.getByRole("button", { name: /mailbox\.message_dead/ }).click();
  await page.getByRole("dialog").getByRole("group", { name: "Payload" }).waitFor();
  await page.goto("/settings?tab=notifications");
  await page.getByRole("button", { name: "Remove what to look at" }).click();
  await page.getByText("what to look at no longer receives notifications.").waitFor();
  await expect.poll(() => page.getByRole("button", { name: "Remove what to look at" }).count()).toBe(0);
  expect(problems).toEqual([]);
});

it("cancels a message before a consumer claims it", async () => {
  const mailboxId = await newMailbox("taken back");
  const id = await sendItem(dashboard.service, account, mailboxId, { event_type: "ticket.mistaken" });
  const { page, problems } = await dashboard.openAs(account);
  await page.goto(`/items/${id}`);
  await page.getByRole("button", { name: "Cancel…" }).click();
  await page.getByText("It is taken out of the mailbox.", { exact: false }).waitFor();
  await page.getByRole("button", { name: "Cancel the item" }).click();
  await page.getByText("CANCELED", { exact: true }).waitFor();
  await visit(page, `/mailboxes/${mailboxId}`);
  await page.getByText("No waiting messages").waitFor();
  expect(problems).toEqual([]);
});

it("lists handoffs to an agent that was added while the page was open", async () => {
  const own = await dashboard.newAccount();
  const { page, problems } = await dashboard.openAs(own);
  // The list is read with a request for each agent, however many items each has.
  const single: string[] = [];
  page.on("request", (request) => {
    if (/\/events\/[0-9a-f]{32}$/.test(request.url())) single.push(request.url());
  });
  await page.goto("/handoffs");
  await page.getByText("No handoffs yet").waitFor();
  await page.getByRole("button", { name: /^Live/ }).waitFor();
  const targetId = await createAgentTarget(dashboard.service, own, agent.cardUrl, { name: "made since" });
  await sendItem(dashboard.service, own, targetId, "input Which day?");
  await page.getByRole("button", { name: /made since.*Input required/ }).waitFor();
  expect(single).toEqual([]);
  expect(problems).toEqual([]);
});

it("shows long lists of handoffs in parts, and says where they end", async () => {
  const { service } = dashboard;
  const own = await dashboard.newAccount();
  const { page, problems } = await dashboard.openAs(own);
  for (const [name, count] of [
    ["first", 25],
    ["second", 25],
    ["busy", 50],
  ] as const) {
    const id = await createAgentTarget(service, own, agent.cardUrl, { name });
    if (name !== "busy")
      await service.call("PATCH", `/api/v1/targets/${id}`, { key: own.api_key, body: { enabled: false } });
    for (let n = 0; n < count; n++) await sendItem(service, own, id, "input Which day?");
  }
  await until(
    () => service.call("GET", "/api/v1/events?limit=100&handoff_state=INPUT_REQUIRED", { key: own.api_key }),
    ({ body }) => body.events.length === 50,
  );
  await page.goto("/handoffs");
  await page.getByText("The latest 25 items of each agent are listed.").waitFor();
  const rows = page.locator("main li");
  expect(await rows.count()).toBe(50);
  await page.getByRole("button", { name: "Show more: 50 of 75" }).click();
  await expect.poll(() => rows.count()).toBe(75);
  await page.goto("/handoffs?state=INPUT_REQUIRED");
  await page.getByText("The latest 50 in this state are listed.").waitFor();
  await page.goto("/");
  await page.getByText("Of the handoffs that wait for you, the latest 50 are listed.").waitFor();
  expect(problems).toEqual([]);
});

it("confirms another origin of a new agent, and a changed card's origin and missing signature", async () => {
  const [cards, signer] = await Promise.all([startCardServer(), startCardSigner()]);
  onTestFinished(async () => void (await Promise.all([cards.stop(), signer.stop()])));
  const serve = (card: unknown): void => {
    cards.answer = (response) => answerJson(response, card);
  };
  const { page, problems } = await dashboard.openAs(account);
  serve(await signer.sign(wholeCard("https://elsewhere.example/a2a")));
  await page.goto("/targets/new?kind=a2a");
  await page.getByLabel("Agent card URL").fill(cards.url);
  await page.getByLabel("Authentication").selectOption("bearer");
  await page.getByLabel("Token").fill("a-token-of-16-letters");
  await page.getByRole("button", { name: "Create target" }).click();
  const confirmed = page.getByLabel("Confirmed origin");
  await page.getByText(`add "confirm_origin": "https://elsewhere.example"`).waitFor();
  await confirmed.fill("https://elsewhere.example");
  await page.getByRole("button", { name: "Create target" }).click();

  await page.getByRole("link", { name: "Card" }).click();
  await page.getByText(/^Verified by the keys of/).waitFor();
  serve(wholeCard("https://elsewhere.example/unsigned"));
  await page.getByRole("button", { name: "Refresh the card" }).click();
  await page.getByText("That of the newer card is missing.").waitFor();
  expect(await page.getByText("moves the agent").count()).toBe(0);
  serve(wholeCard("https://moved.example/a2a"));
  await page.getByRole("button", { name: "Refresh the card" }).click();
  const confirm = page.getByRole("button", { name: "Confirm and use the card" });
  await page.getByText("moves the agent to https://moved.example.").waitFor();
  await page.getByText("That of the newer card is missing.").waitFor();
  await confirm.click();
  await page.getByText("The card is not signed").waitFor();
  await page.getByText("https://moved.example/a2a").waitFor();
  expect(await confirm.count()).toBe(0);
  expect(problems).toEqual([]);
});

it("answers an agent that asks for input", async () => {
  const targetId = await createAgentTarget(dashboard.service, account, agent.cardUrl, { name: "planner" });
  const id = await sendItem(dashboard.service, account, targetId, "input Which day?");
  await untilHandedOver(dashboard.service, account, id, ({ handoff }) => handoff?.state === "INPUT_REQUIRED");
  const { page, problems } = await dashboard.openAs(account);
  await page.goto("/?skip=1");
  await page.getByRole("link", { name: "planner waits for your answer" }).click();
  await page.goto("/handoffs?state=COMPLETED");
  await page.getByText("No handoff is in this state").waitFor();
  await page.getByLabel("Filter handoffs by state").selectOption({ label: "Input required" });
  await tabTo(page, page.getByRole("button", { name: /planner/ }));
  await page.keyboard.press("Enter");
  await tabTo(page, page.getByLabel("The agent waits for your answer"));
  await page.keyboard.type("Friday at eight");
  await tabTo(page, page.getByRole("button", { name: "Send the answer" }));
  await page.keyboard.press("Enter");
  const conversation = page.getByRole("dialog");
  await conversation.getByText("Completed").first().waitFor();
  await conversation.getByText("Friday at eight").first().waitFor();
  // The form is gone, so the focus moves to the heading above.
  await untilFocused(page, "Handoff");
  expect(problems).toEqual([]);
});

it("the overview lists a handoff whose agent waits for an authorization, until its target is deleted", async () => {
  const own = await dashboard.newAccount();
  const targetId = await createAgentTarget(dashboard.service, own, agent.cardUrl, { name: "guarded" });
  await createAgentTarget(dashboard.service, own, agent.cardUrl, { name: "another" });
  const id = await sendItem(dashboard.service, own, targetId, "auth");
  await untilHandedOver(dashboard.service, own, id, ({ handoff }) => handoff?.state === "AUTH_REQUIRED");
  const { page, problems } = await dashboard.openAs(own);
  await page.goto("/?skip=1");
  await page.getByRole("link", { name: "guarded waits for your answer" }).click();
  await page.getByRole("dialog").getByText("who are you?").waitFor();
  await dashboard.service.call("DELETE", `/api/v1/targets/${targetId}`, { key: own.api_key });
  const pool = testPool(dashboard.database, 1);
  await makePollDue(pool, id);
  await pool.end();
  await untilHandedOver(dashboard.service, own, id, ({ handoff }) => handoff?.outcome === "UNKNOWN");
  await page.goto("/?skip=1");
  await page.getByText("Nothing. Targets answer").waitFor();
  expect(problems).toEqual([]);
});

it("keeps the draft of an answer to an agent until it is sent, even if the drawer is closed", async () => {
  const targetId = await createAgentTarget(dashboard.service, account, agent.cardUrl, { name: "asks twice" });
  const id = await sendItem(dashboard.service, account, targetId, "input Which day?");
  await untilHandedOver(dashboard.service, account, id, ({ handoff }) => handoff?.state === "INPUT_REQUIRED");
  const { page, problems } = await dashboard.openAs(account);
  await page.goto(`/handoffs?open=${id}`);
  const field = page.getByLabel("The agent waits for your answer");
  await field.fill("Friday at eight");
  await page.keyboard.press("Escape");
  await page.getByRole("dialog").waitFor({ state: "detached" });
  await page.getByRole("button", { name: /asks twice/ }).click();
  expect(await field.inputValue()).toBe("Friday at eight");
  await page.route("**/handoff/message", (route) => route.abort());
  await page.getByRole("button", { name: "Send the answer" }).click();
  await page.getByText("The service cannot be reached.", { exact: false }).waitFor();
  expect(await field.inputValue()).toBe("Friday at eight");
  await page.unroute("**/handoff/message");
  await page.getByRole("button", { name: "Send the answer" }).click();
  await page.getByRole("dialog").getByText("Completed").first().waitFor();
  expect(await page.evaluate(`JSON.stringify(sessionStorage)`)).not.toContain("Friday");
  expect(problems).toEqual([]);
});
