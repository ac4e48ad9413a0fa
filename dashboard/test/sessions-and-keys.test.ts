import { afterAll, beforeAll, expect, it } from "vitest";
import { createWebhookTarget, sendItem } from "../../server/test/support/items.ts";
import { freePort } from "../../server/test/support/freePort.ts";
import { startService } from "../../server/test/support/serviceProcess.ts";
import { tabTo, untilFocused } from "./support/browser.ts";
import { type Dashboard, startDashboard } from "./support/dashboard.ts";

let dashboard: Dashboard;

beforeAll(async () => {
  dashboard = await startDashboard();
});

afterAll(() => dashboard.stop());

it("creates a key that works, shows it once, and revokes it while its client runs", async () => {
  const account = await dashboard.newAccount();
  const { page, problems } = await dashboard.openAs(account);
  await page.goto("/usage");
  await page.getByRole("link", { name: "Settings" }).click();
  await page.getByRole("button", { name: "New key" }).click();
  const dialog = page.getByRole("dialog");
  await dialog.getByLabel("Name").fill("night worker");
  await dialog.getByRole("button", { name: "Create key" }).click();
  const key = (await dialog.locator("code").textContent())!;
  const call = async (): Promise<number> =>
    (await dashboard.service.call("GET", "/api/v1/targets", { key })).status;
  expect(await call()).toBe(200);
  // The dialog closes only after the user has saved the key.
  await page.keyboard.press("Escape");
  await dialog.getByRole("button", { name: "Done" }).waitFor();
  // Going back asks before it leaves the dialog.
  await page.goBack();
  await page.getByRole("dialog", { name: "Leave without saving this?" }).waitFor();
  await page.getByRole("button", { name: "Stay" }).click();
  expect(await dialog.locator("code").textContent()).toBe(key);
  await dialog.getByLabel("I saved it").check();
  await dialog.getByRole("button", { name: "Done" }).click();
  expect(await page.content()).not.toContain(key);
  await dashboard.service.call("POST", "/api/v1/keys", {
    session: account.session_token,
    body: { name: "day worker" },
  });
  const { body: gone } = await dashboard.service.call("POST", "/api/v1/keys", {
    session: account.session_token,
    body: { name: "gone" },
  });
  await page.reload();
  // A key that another tab has revoked; the list behind the dialog needs no link.
  await page.getByRole("button", { name: "Revoke gone" }).click();
  await dashboard.service.call("DELETE", `/api/v1/keys/${gone.id}`, { key: account.api_key });
  await page.getByRole("button", { name: "Revoke", exact: true }).click();
  await dialog.getByText("There is nothing with this id in your organization.").waitFor();
  expect(await dialog.getByRole("link").count()).toBe(0);
  await page.keyboard.press("Escape");
  // By keyboard: the focus moves to the next key's button, and to the heading once only one key is left, which cannot be
  // revoked.
  for (const [name, next] of [
    ["night worker", "Revoke day worker"],
    ["day worker", "API keys"],
  ] as const) {
    await tabTo(page, page.getByRole("button", { name: `Revoke ${name}` }));
    await page.keyboard.press("Enter");
    await tabTo(page, page.getByRole("button", { name: "Revoke", exact: true }));
    await page.keyboard.press("Enter");
    await page.getByText(`${name} was revoked.`).waitFor();
    await untilFocused(page, next);
    if (next.startsWith("Revoke")) await page.keyboard.press("Shift+Tab");
  }
  expect(await call()).toBe(401);
  expect(problems).toEqual([]);
});

it("creates a key with a limited scope, and shows the scope", async () => {
  const account = await dashboard.newAccount();
  await dashboard.service.call("PUT", "/api/v1/customers/shop-7", { key: account.api_key, body: {} });
  const { page, problems } = await dashboard.openAs(account);
  await page.goto("/settings");
  await page.getByRole("button", { name: "New key" }).click();
  const dialog = page.getByRole("dialog");
  await dialog.getByLabel("Name").fill("shop worker");
  await dialog.getByLabel("Access").selectOption("customer");
  await dialog.getByLabel("Customer").fill("shop-7");
  await dialog.getByRole("button", { name: "Create key" }).click();
  const key = (await dialog.locator("code").textContent())!;
  await dialog.getByLabel("I saved it").check();
  await dialog.getByRole("button", { name: "Done" }).click();
  await page.getByText("customer shop-7 only").waitFor();
  const call = async (path: string): Promise<number> =>
    (await dashboard.service.call("POST", path, { key, body: {} })).status;
  expect([await call("/p/shop-7"), await call("/p")]).toEqual([202, 403]);
  expect(problems).toEqual([]);
});

it("changes the password only with the current one, and ends the other sessions", async () => {
  const account = await dashboard.newAccount();
  const [{ page, problems }, other] = await Promise.all([
    dashboard.openAs(account),
    dashboard.service.call("POST", "/api/v1/auth/login", {
      body: { email: account.user.email, password: account.password },
    }),
  ]);
  await page.goto("/settings");
  const next = "a better horse battery";
  for (const [present, shown] of [
    ["not the one", "The current password is wrong."],
    [account.password, "Password changed. Your other sessions have ended."],
  ] as const) {
    await page.getByLabel("Current password").fill(present);
    await page.getByLabel("New password").fill(next);
    await page.getByRole("button", { name: "Change the password" }).click();
    await page.getByText(shown).first().waitFor();
  }
  const { status } = await dashboard.service.call("GET", "/api/v1/auth/me", {
    session: other.body.session_token,
  });
  expect(status).toBe(401);
  // This session stays valid.
  await page.reload();
  await page.getByText(`Signed in as ${account.user.email}`).waitFor();
  expect(problems).toEqual([]);
});

it("asks for a sign-in when the session of an open page ends, and returns to the page", async () => {
  const account = await dashboard.newAccount();
  const { page } = await dashboard.openAs(account);
  await page.goto("/usage");
  await page.getByText("Accepted this month").waitFor();
  await page.getByRole("button", { name: /^Live/ }).waitFor();
  // The stream ends with the session, so the page notices the end by itself.
  await dashboard.service.call("POST", "/api/v1/auth/logout-all", { key: account.api_key });
  await page.getByText("Sign in to continue.").waitFor();
  await page.getByLabel("Email").fill(account.user.email);
  await page.getByLabel("Password").fill(account.password);
  await page.getByRole("button", { name: "Sign in" }).click();
  await page.getByRole("heading", { name: "Usage" }).waitFor();
  expect(page.url()).toMatch(/\/usage$/);
});

it("makes no requests while paused, and shows the changes after it is resumed", async () => {
  const account = await dashboard.newAccount();
  const target = await createWebhookTarget(dashboard.service, account, "http://127.0.0.1:9/");
  await sendItem(dashboard.service, account, target.id, { event_type: "before" });
  const { page, problems } = await dashboard.openAs(account);
  await page.goto("/items");
  await page.getByRole("link", { name: "before" }).waitFor();
  await page.getByRole("button", { name: /^Live/ }).waitFor();
  await page.keyboard.press("p");
  await page.getByRole("button", { name: /^Paused/ }).waitFor();
  const calls: string[] = [];
  page.on("request", (request) => calls.push(request.url()));
  await sendItem(dashboard.service, account, target.id, { event_type: "meanwhile" });
  expect(calls).toEqual([]);
  await page.keyboard.press("p");
  await page.getByRole("button", { name: "1 new" }).click();
  await page.getByRole("link", { name: "meanwhile" }).waitFor();
  await page.keyboard.press("Control+k");
  await page.getByLabel("Page, target, customer, or any id").fill(`see ${target.id}`);
  await page.keyboard.press("Enter");
  await page.getByText("Latest items").waitFor();
  expect(problems).toEqual([]);
});

it("keeps its data while the service restarts, and continues afterwards", async () => {
  // A fixed port, which the service has again after its restart.
  const env = { PORT: String(await freePort()) };
  const second = await startService({ storage: { databaseUrl: dashboard.database.url }, env });
  const account = await dashboard.newAccount();
  const target = await createWebhookTarget(second, account, `${second.url}/healthz`);
  await sendItem(second, account, target.id, { event_type: "before.restart" });
  const { page, problems } = await dashboard.openAs(account);
  await page.goto(`${second.url}/items`);
  await page.getByRole("link", { name: "before.restart" }).waitFor();
  await second.stop();
  await page.getByRole("button", { name: /^Reconnecting/ }).waitFor();
  expect(await page.getByRole("link", { name: "before.restart" }).count()).toBe(1);
  const third = await startService({ storage: { databaseUrl: dashboard.database.url }, env });
  await page.getByRole("button", { name: /^Live/ }).waitFor();
  await sendItem(third, account, target.id, { event_type: "after.restart" });
  await page.getByRole("button", { name: "1 new" }).click();
  await page.getByRole("link", { name: "after.restart" }).waitFor();
  await third.stop();
  expect(problems.filter((text) => !text.startsWith("request elsewhere"))).toEqual([]);
});
