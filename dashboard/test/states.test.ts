import { afterAll, beforeAll, expect, it } from "vitest";
import { startDatabaseProxy } from "../../server/test/support/databaseProxy.ts";
import { testPool } from "../../server/test/support/fixtures.ts";
import { createWebhookTarget, sendItem } from "../../server/test/support/items.ts";
import { type Receiver, startReceiver } from "../../server/test/support/receiver.ts";
import { setBillingStatus } from "../../server/test/support/storedStates.ts";
import { startService } from "../../server/test/support/serviceProcess.ts";
import type { Account } from "../../server/test/support/testNode.ts";
import { visit } from "./support/browser.ts";
import { type Dashboard, startDashboard } from "./support/dashboard.ts";

let dashboard: Dashboard;
let receiver: Receiver;

beforeAll(async () => {
  [dashboard, receiver] = await Promise.all([
    startDashboard({ POSTRIDER_LOGIN_LIMIT: "2" }),
    startReceiver(),
  ]);
});

afterAll(async () => {
  await dashboard.stop();
  await receiver.stop();
});

async function setBilling(account: Account, status: string): Promise<void> {
  const pool = testPool(dashboard.database, 1);
  await setBillingStatus(pool, account.user, status);
  await pool.end();
}

it("explains what a billing state blocks, and links to the page that resolves it", async () => {
  const account = await dashboard.newAccount();
  const { page, problems } = await dashboard.openAs(account);
  await page.goto("/settings");
  for (const [state, text] of [
    ["suspended", "The organization is suspended because an invoice was not paid."],
    ["pending", "If the organization is still pending"],
  ] as const) {
    await setBilling(account, state);
    await page.getByRole("button", { name: "New key" }).click();
    const dialog = page.getByRole("dialog");
    await dialog.getByLabel("Name").fill("refused");
    await dialog.getByRole("button", { name: "Create key" }).click();
    await dialog.getByText(text, { exact: false }).waitFor();
    await dialog.getByText("Request ").waitFor();
    await dialog.getByRole("link", { name: "See usage and billing" }).waitFor();
    await dialog.getByRole("button", { name: "Cancel" }).click();
  }
  await visit(page, "/usage");
  await page.getByText("Accepted this month").waitFor();
  expect(problems).toEqual([]);
});

it("counts down the wait after too many requests, on a page and at sign-in", async () => {
  const account = await dashboard.newAccount();
  const target = await createWebhookTarget(dashboard.service, account, receiver.url);
  const { page, problems } = await dashboard.openAs(account);
  for (let sent = 0; sent < 10; sent += 1)
    await dashboard.service.call("POST", `/api/v1/targets/${target.id}/test`, { key: account.api_key });
  await page.goto(`/targets/${target.id}`);
  await page.getByRole("button", { name: "Send a test" }).click();
  await page
    .getByRole("dialog", { name: "The test was not sent" })
    .getByText(/Try again in \d+ s/)
    .waitFor();
  await page.evaluate("sessionStorage.removeItem('postrider.session')");
  await page.goto("/sign-in");
  for (let tries = 0; tries < 3; tries += 1) {
    await page.getByLabel("Email").fill(account.user.email);
    await page.getByLabel("Password").fill(`wrong ${tries}`);
    await page.getByRole("button", { name: "Sign in" }).click();
    await page
      .getByText(
        tries < 2
          ? "The email or the password is wrong."
          : /Too many attempts from your network. Try again in \d+ min/,
      )
      .waitFor();
  }
  expect(await page.getByRole("button", { name: "Sign in" }).isDisabled()).toBe(true);
  expect(problems).toEqual([]);
});

it.for([
  ["Item", "/items/none", "**/api/v1/events/none"],
  ["Replays", "/replays", "**/api/v1/replays?*"],
] as const)("keeps the error on the page while the request is repeated: %s", async ([title, path, asked]) => {
  const { page } = await dashboard.openAs(await dashboard.newAccount());
  let until = Promise.resolve();
  await page.route(asked, async (route) => {
    await until;
    await route.fulfill({ status: 400, json: { error: "it is refused" } });
  });
  await page.goto(path);
  const refusal = page.getByText("it is refused");
  await refusal.waitFor();
  const { promise: held, resolve: goOn } = Promise.withResolvers<void>();
  until = held;
  await Promise.all([page.waitForRequest(asked), page.getByRole("button", { name: "Retry" }).click()]);
  await page.locator(".progress-bar").waitFor();
  expect(await refusal.isVisible()).toBe(true);
  expect(await page.getByRole("heading", { level: 1, name: title }).isVisible()).toBe(true);
  expect(await page.locator(".skeleton").count()).toBe(0);
  goOn();
  await page.locator(".progress-bar").waitFor({ state: "detached" });
  expect(await refusal.isVisible()).toBe(true);
});

it("keeps its data, with its time, while the database is unreachable, and continues by itself", async () => {
  const account = await dashboard.newAccount();
  const target = await createWebhookTarget(dashboard.service, account, receiver.url, { name: "kept" });
  await sendItem(dashboard.service, account, target.id, { event_type: "kept.too" });
  const proxy = await startDatabaseProxy(dashboard.database);
  const second = await startService({ storage: { databaseUrl: proxy.url } });
  const { page } = await dashboard.openAs(account);
  await page.goto(`${second.url}/targets`);
  await page.getByRole("link", { name: "kept" }).first().waitFor();
  proxy.accepts = false;
  proxy.sever();
  const asOf = page.getByText(/As of \d\d:\d\d:\d\d: the service is unavailable/);
  await asOf.first().waitFor({ timeout: 60_000 });
  expect(await page.getByRole("link", { name: "kept" }).count()).toBeGreaterThan(0);
  await visit(page, "/replays");
  // Until this page is shown, the previous page shows the same text and a Retry of its own.
  await page.getByRole("heading", { name: "Replays", exact: true }).waitFor();
  await page.getByText(/The service cannot (answer at the moment|be reached)/).waitFor({ timeout: 60_000 });
  proxy.accepts = true;
  await page.getByRole("alert").getByRole("button", { name: "Retry" }).click();
  await page.getByText("No replays yet").waitFor({ timeout: 60_000 });
  await second.stop();
  await proxy.stop();
});
