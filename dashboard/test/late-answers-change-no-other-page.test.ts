import type { Page } from "playwright-core";
import { expect, it } from "vitest";
import { createMailboxTarget, createWebhookTarget, sendItem } from "../../server/test/support/items.ts";
import type { Account } from "../../server/test/support/testNode.ts";
import { stageOfFile } from "./support/stage.ts";

const stage = stageOfFile();

/** Holds back the answers to requests of this method and path, until the returned function is called; no answers of dry runs. */
async function holdAnswers(page: Page, method: string, path: string): Promise<() => void> {
  const letGo = Promise.withResolvers<void>();
  await page.route(`**${path}`, async (route) => {
    const request = route.request();
    const isDryRun = /"?dry_run"?[=:]true/.test(`${request.url()} ${request.postData()}`);
    if (request.method() !== method || isDryRun) return route.fallback();
    const response = await route.fetch();
    await letGo.promise;
    return route.fulfill({ response });
  });
  return letGo.resolve;
}

it.each([
  {
    of: "a customer",
    open: "/customers",
    begin: "New customer",
    field: "Uid",
    make: "Create customer",
    path: "/api/v1/customers/first",
  },
  {
    of: "an event type",
    open: "/event-types",
    begin: "New event type",
    field: "Name",
    make: "Create event type",
    path: "/api/v1/event-types/first",
  },
])(
  "keeps the dialog of $of that was opened while another one was being created",
  async ({ open, begin, field, make, path }) => {
    const owner = await stage.dashboard.newAccount();
    const { page, problems } = await stage.dashboard.openAs(owner);
    await page.goto(open);
    const answer = await holdAnswers(page, "PUT", path);
    const dialog = page.getByRole("dialog", { name: begin });
    await page.getByRole("button", { name: begin }).first().click();
    await dialog.getByLabel(field, { exact: true }).fill("first");
    const asked = page.waitForRequest((request) => request.method() === "PUT");
    await dialog.getByRole("button", { name: make }).click();
    await asked;
    await page.keyboard.press("Escape");
    await dialog.waitFor({ state: "detached" });
    await page.getByRole("button", { name: begin }).first().click();
    await dialog.getByLabel(field, { exact: true }).fill("second");
    answer();
    // The list behind the dialog is read again after the answer.
    await page.locator("main li", { hasText: "first" }).waitFor();
    expect(await dialog.getByLabel(field, { exact: true }).inputValue()).toBe("second");
    expect(page.url()).toMatch(new RegExp(`${open}$`));
    expect(problems).toEqual([]);
  },
);

/** Creates an object of a page with a deletion, and returns the page's path and the deletion's path. */
const deletable = {
  "a target": async (owner: Account) => {
    const id = await createMailboxTarget(stage.dashboard.service, owner);
    return { open: `/mailboxes/${id}?tab=settings`, path: `/api/v1/targets/${id}`, typed: true };
  },
  "a customer": async ({ api_key: key }: Account) => {
    const path = "/api/v1/customers/shop-7";
    await stage.dashboard.service.call("PUT", path, { key, body: {} });
    return { open: "/customers/shop-7", path, typed: true };
  },
  "an event type": async ({ api_key: key }: Account) => {
    const path = "/api/v1/event-types/order.paid";
    await stage.dashboard.service.call("PUT", path, { key, body: {} });
    return { open: "/event-types?type=order.paid", path, typed: false };
  },
};

it.each(Object.entries(deletable))(
  "stays on the page to which the user went while %s was being deleted",
  async (_of, create) => {
    const owner = await stage.dashboard.newAccount();
    const { open, path, typed: isNameTyped } = await create(owner);
    const { page, problems } = await stage.dashboard.openAs(owner);
    await page.goto(open);
    const answer = await holdAnswers(page, "DELETE", path);
    await page.getByRole("button", { name: /^Delete this .*…$/ }).click();
    const dialog = page.getByRole("dialog");
    const [, name] = /^Delete (.*)\?$/.exec((await dialog.getByRole("heading").textContent())!)!;
    if (isNameTyped) await dialog.getByLabel(`Type ${name} to confirm`).fill(name!);
    const asked = page.waitForRequest((request) => request.method() === "DELETE");
    await dialog.getByRole("button", { name: "Delete", exact: true }).click();
    await asked;
    await page.keyboard.press("Escape");
    await dialog.waitFor({ state: "detached" });
    await page.getByRole("link", { name: "Settings" }).first().click();
    const typed = page.getByLabel("Current password");
    await typed.fill("typed here");
    answer();
    await page.getByText(`${name} was deleted`, { exact: false }).waitFor();
    await page.getByRole("heading", { name: "Settings" }).waitFor();
    expect(await typed.inputValue()).toBe("typed here");
    expect(problems).toEqual([]);
  },
);

it("keeps the import that was opened while another one was being done", async () => {
  const { page, problems } = await stage.dashboard.openAs(await stage.dashboard.newAccount());
  await page.goto("/event-types");
  const answer = await holdAnswers(page, "POST", "/api/v1/event-types/import?*");
  const dialog = page.getByRole("dialog", { name: "Import event types" });
  const document = dialog.getByLabel("The document");
  await page.getByRole("button", { name: "Import…" }).click();
  await document.fill('{"openapi": "3.1.0", "webhooks": {"order.paid": {}}}');
  await dialog.getByRole("button", { name: "Preview" }).click();
  await dialog.getByRole("button", { name: "Import 1" }).click();
  await page.keyboard.press("Escape");
  await dialog.waitFor({ state: "detached" });
  await page.getByRole("button", { name: "Import…" }).click();
  await document.fill("the next one");
  answer();
  await page.getByText("1 created, 0 updated.").waitFor();
  await page.locator("main li", { hasText: "order.paid" }).waitFor();
  expect(await document.inputValue()).toBe("the next one");
  expect(problems).toEqual([]);
});

it("counts again what could not be counted, and leads to a replay only the user who waits for it", async () => {
  const owner = await stage.dashboard.newAccount();
  const { service } = stage.dashboard;
  const target = await createWebhookTarget(service, owner, `${stage.receiver.url}/broken`, {
    max_retries: 0,
  });
  const item = await sendItem(service, owner, target.id);
  const { page, problems } = await stage.dashboard.openAs(owner);
  await page.goto(`/items/${item}`);
  await page.getByText("FAILED", { exact: true }).waitFor();
  await page.getByRole("link", { name: "Targets" }).click();
  await page.getByRole("main").getByRole("link", { name: "receiver" }).click();
  await page.route("**/api/v1/replays", (route) => route.abort(), { times: 1 });
  await page.getByRole("button", { name: "Replay failures…" }).click();
  const dialog = page.getByRole("dialog", { name: "Replay failed items" });
  await dialog.getByText("The matches could not be counted.").waitFor();
  await dialog.getByRole("button", { name: "Retry" }).click();
  const answer = await holdAnswers(page, "POST", "/api/v1/replays");
  await dialog.getByRole("button", { name: "Replay 1" }).click();
  await page.keyboard.press("Escape");
  await dialog.waitFor({ state: "detached" });
  await page.getByRole("link", { name: "Usage" }).click();
  answer();
  const follow = page.getByRole("status").getByRole("button", { name: "Follow" });
  await follow.waitFor();
  expect(page.url()).toMatch(/\/usage$/);
  await follow.click();
  await page.getByText("Started by").waitFor();
  expect(problems).toEqual([]);
});

it("leads to the payment page only a user who waits for it", async () => {
  const { page, problems } = await stage.dashboard.openAs(stage.account);
  // This service has no payment processor; its answers are those of one that has.
  const billing = { billing_enabled: true, has_payment_method: false };
  await page.route("**/api/v1/billing", async (route) => {
    const response = await route.fetch();
    return route.fulfill({ response, json: { ...(await response.json()), ...billing } });
  });
  const letGo = Promise.withResolvers<void>();
  await page.route("**/api/v1/billing/checkout", async (route) => {
    await letGo.promise;
    return route.fulfill({ json: { url: "/demo" } });
  });
  const led: string[] = [];
  page.on("request", (request) => {
    if (request.isNavigationRequest() && request.url().endsWith("/demo")) led.push(request.url());
  });
  await page.goto("/usage");
  const button = page.getByRole("button", { name: "Set up payment" });
  await button.click();
  await page.getByRole("link", { name: "Settings" }).first().click();
  await page.getByLabel("Current password").fill("typed here");
  const answered = page.waitForResponse("**/api/v1/billing/checkout");
  letGo.resolve();
  await answered;
  await page.getByRole("link", { name: "Usage" }).click();
  await button.click();
  await page.getByText("A client posts an item").waitFor();
  expect(led).toHaveLength(1);
  // With a subscription there is nothing to set up.
  billing.has_payment_method = true;
  const invoice = { number: "A-1", date: Date.UTC(2026, 7, 31, 23, 30) / 1000, status: "paid" };
  const amounts = { amount_due: 10, amount_paid: 10, currency: "usd", hosted_invoice_url: null };
  await page.route("**/api/v1/billing/invoices", (route) =>
    route.fulfill({ json: { invoices: [{ ...invoice, ...amounts }], billing_enabled: true } }),
  );
  await page.goto("/usage");
  await page.getByRole("button", { name: "Open the customer portal" }).waitFor();
  expect(await button.count()).toBe(0);
  // The day in UTC; in London it was September.
  await page.getByText("31 Aug 2026").waitFor();
  expect(problems).toEqual([]);
});
