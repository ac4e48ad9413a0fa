import { afterAll, beforeAll, expect, it } from "vitest";
import { type Agent, startAgent } from "../../server/test/support/agent/startAgent.ts";
import { createAgentTarget, untilHandedOver } from "../../server/test/support/agentTargets.ts";
import { sendItem } from "../../server/test/support/items.ts";
import { type Receiver, startReceiver } from "../../server/test/support/receiver.ts";
import { type Account, newEmail, signUp } from "../../server/test/support/testNode.ts";
import { visit } from "./support/browser.ts";
import { type Dashboard, startDashboard } from "./support/dashboard.ts";

const markup = `<img src=x onerror="window.planted=1"><script>window.planted=1</script>`;

let dashboard: Dashboard;
let receiver: Receiver;
let agent: Agent;
let account: Account;

beforeAll(async () => {
  [dashboard, agent, receiver] = await Promise.all([
    startDashboard(),
    startAgent({ card: { name: markup, version: markup } }),
    startReceiver((_received, response) => void response.writeHead(503).end(markup)),
  ]);
  account = await signUp(dashboard.service, newEmail(), markup);
});

afterAll(async () => {
  await dashboard.stop();
  await agent.kill();
  await receiver.stop();
});

async function make(path: string, body: unknown): Promise<string> {
  const { body: made } = await dashboard.service.call("POST", path, {
    ...(path.endsWith("/keys") ? { session: account.session_token } : { key: account.api_key }),
    body,
  });
  return made.id;
}

/** A message that a user made dead, with markup as the reason. */
async function rejectByHand(mailbox: string, item: unknown): Promise<string> {
  const id = await sendItem(dashboard.service, account, mailbox, item);
  const path = `/api/v1/mailboxes/${mailbox}/messages/${id}/force-reject`;
  await dashboard.service.call("POST", path, { session: account.session_token, body: { reason: markup } });
  return id;
}

/** A message that an API key with this name holds. */
async function claimAs(name: string, mailbox: string): Promise<string> {
  const made = await dashboard.service.call("POST", "/api/v1/keys", {
    session: account.session_token,
    body: { name },
  });
  const { body } = await dashboard.service.call("POST", `/api/v1/mailboxes/${mailbox}/claim`, {
    key: made.body.key,
    body: { max: 1 },
  });
  return body.messages[0].id;
}

/** A user with this name joins the organization. */
async function joinAs(name: string): Promise<void> {
  const invite = (body: object) =>
    dashboard.service.call("POST", "/api/v1/invitations", { session: account.session_token, body });
  await invite({ role: "member", email: newEmail() });
  const { body } = await invite({ role: "viewer" });
  const joining = { token: body.token, email: newEmail(), password: "correct horse battery", name };
  await dashboard.service.call("POST", "/api/v1/invitations/accept", { body: joining });
}

it("shows markup in names, types, payloads, responses and agents' messages as plain text", async () => {
  await dashboard.service.call("PUT", "/api/v1/customers/planted", {
    key: account.api_key,
    body: { name: markup, metadata: { [markup]: markup } },
  });
  await dashboard.service.call("PUT", `/api/v1/event-types/${encodeURIComponent(markup)}`, {
    key: account.api_key,
    body: { description: markup, group: markup, schema: { title: markup }, example: { [markup]: markup } },
  });
  const target = await make("/api/v1/targets", {
    kind: "webhook",
    name: markup,
    description: markup,
    customer_uid: "planted",
    metadata: { [markup]: markup },
    url: receiver.url,
    max_retries: 0,
    headers: { "x-planted": { value: markup, secret: false } },
  });
  const mailbox = await make("/api/v1/targets", { kind: "mailbox", name: markup });
  const tryout = await make("/api/v1/targets", {
    kind: "webhook",
    name: "tryout",
    url: `https://tryout.postrider.invalid/${"ab".repeat(16)}`,
  });
  const told = await make("/api/v1/targets", { kind: "mailbox", name: "told" });
  await make("/api/v1/notification-targets", { target_id: told });
  await dashboard.service.call("PATCH", "/api/v1/orgs", { key: account.api_key, body: { name: markup } });
  const item = { event_type: markup, [markup]: markup };
  const id = await sendItem(dashboard.service, account, target, item);
  await sendItem(dashboard.service, account, mailbox, item);
  await sendItem(dashboard.service, account, tryout, item);
  const publication = await make("/p/planted", item);
  const claimed = await claimAs(markup, mailbox);
  const rejected = await rejectByHand(mailbox, item);
  const replay = await make("/api/v1/replays", { filter: { target_id: target, event_type: markup } });
  await make("/api/v1/notification-targets", { target_id: target });
  await joinAs(markup);
  const agentTarget = await createAgentTarget(dashboard.service, account, agent.cardUrl, { name: markup });
  const handedOver = await sendItem(dashboard.service, account, agentTarget, `say ${markup}`);
  await untilHandedOver(
    dashboard.service,
    account,
    handedOver,
    ({ handoff }) => handoff?.outcome === "COMPLETED",
  );
  const { page, problems } = await dashboard.openAs(account);
  const pages: Record<string, string> = {
    "/?skip=1": "Overview",
    "/items": markup,
    [`/items/${id}`]: markup,
    "/targets": markup,
    [`/targets/${target}`]: markup,
    [`/targets/${target}?tab=settings`]: markup,
    [`/targets/${agentTarget}?tab=card`]: markup,
    "/customers": markup,
    "/customers/planted": markup,
    [`/targets/new?${new URLSearchParams({ customer: markup }).toString()}`]: "Destination",
    "/event-types": markup,
    [`/event-types?${new URLSearchParams({ type: markup }).toString()}`]: markup,
    "/publications": markup,
    [`/publications?${new URLSearchParams({ customer: markup }).toString()}`]: "No publication matches",
    [`/publications/${publication}`]: markup,
    "/mailboxes": markup,
    [`/mailboxes/${mailbox}`]: markup,
    "/handoffs": markup,
    [`/handoffs?open=${handedOver}`]: markup,
    [`/mailboxes/${mailbox}?open=${rejected}`]: markup,
    [`/mailboxes/${mailbox}?open=${claimed}`]: "Held by",
    [`/mailboxes/${told}`]: "event.failed",
    [`/targets/${tryout}?tab=received`]: "Signature verified",
    [`/items?${new URLSearchParams({ type: markup, correlation: "none" }).toString()}`]: `type: ${markup}`,
    [`/items?${new URLSearchParams({ status: markup, time: markup }).toString()}`]: `status: ${markup}`,
    [`/targets?${new URLSearchParams({ name: markup }).toString()}`]: markup,
    [`/handoffs?${new URLSearchParams({ state: markup }).toString()}`]: "Handoffs",
    "/replays": markup,
    [`/replays/${replay}`]: markup,
    "/usage": markup,
    "/settings": markup,
    "/settings?tab=members": markup,
    "/settings?tab=notifications": markup,
    "/settings?tab=erasures": "Erasures",
    "/settings?tab=audit": markup,
  };
  await page.goto("/");
  for (const [path, shown] of Object.entries(pages)) {
    await visit(page, path);
    await page.getByText(shown).filter({ visible: true }).first().waitFor();
    // Open folded details, such as the changes of an audit entry or the headers of a delivery.
    await page.evaluate("for (const one of document.querySelectorAll('details')) one.open = true");
  }
  await visit(page, `/mailboxes/${told}`);
  await page
    .getByRole("button", { name: /event.failed/ })
    .first()
    .click();
  await page.getByRole("dialog").getByRole("group", { name: "Payload" }).waitFor();
  await page.keyboard.press("Escape");
  await page.keyboard.press("Control+k");
  await page.getByLabel("Page, target, customer, or any id").fill(markup);
  await page.getByRole("option").filter({ hasText: markup }).first().waitFor();
  expect(await page.evaluate("window.planted")).toBeUndefined();
  expect(problems).toEqual([]);
});

it("explains links to missing objects, and offers a link or button", async () => {
  const stranger = await dashboard.newAccount();
  const foreign = await make("/api/v1/targets", { kind: "mailbox", name: "foreign" });
  const item = await sendItem(dashboard.service, account, foreign);
  const { page, problems } = await dashboard.openAs(stranger);
  for (const [path, list] of [
    [`/items/${item}`, "items"],
    [`/targets/${foreign}`, "targets"],
    [`/mailboxes/${foreign}`, "mailboxes"],
    ["/items/nonsense", "items"],
  ] as const) {
    await page.goto(path);
    await page.getByText("There is nothing with this id in your organization.").waitFor();
    await page.getByRole("link", { name: `See all ${list}` }).waitFor();
  }
  for (const [filter, said] of [
    ["status=NONSENSE", /status/i],
    ["time=yesterday", "Time must be 1h, 24h, 7d, 30d"],
    ["target=nonsense", "No item matches"],
  ] as const) {
    await page.goto(`/items?${filter}`);
    await page.getByRole("alert").or(page.getByText("No item matches")).filter({ hasText: said }).waitFor();
    await page.getByRole("button", { name: "Clear the filters" }).click();
    await page.getByText("No items yet").waitFor();
  }
  await page.goto("/no/such/page");
  await page.getByRole("link", { name: "Go to the overview" }).waitFor();
  expect(problems).toEqual([]);
});
