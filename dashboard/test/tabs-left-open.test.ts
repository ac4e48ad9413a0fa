import type { Page } from "playwright-core";
import { expect, it } from "vitest";
import { createWebhookTarget, sendItem } from "../../server/test/support/items.ts";
import { until } from "../../server/test/support/until.ts";
import { visit } from "./support/browser.ts";
import { stageOfFile } from "./support/stage.ts";

const stage = stageOfFile();

/** Scripts of the page that are loaded when they are needed. */
const parts = /\/assets\/.*\.js$/;

/** Answers as a new version, which has none of the old version's scripts, and whose page names a script of its own. */
async function upgrade(page: Page, path: string, read: () => Promise<void> = async () => {}): Promise<void> {
  await page.route(parts, (route) => route.fulfill({ status: 404, json: { error: "not found" } }));
  await page.route(path, async (route) => {
    if (route.request().isNavigationRequest()) return route.fallback();
    const response = await route.fetch();
    await read();
    const text = await response.text();
    return route.fulfill({ response, body: text.replace("/assets/index-", "/assets/index-of-next-") });
  });
}

it("a tab that was open during an upgrade reloads when it needs another script of the page", async () => {
  const { page, problems } = await stage.dashboard.openAs(stage.account);
  await page.goto("/settings");
  const newKey = page.getByRole("button", { name: "New key" });
  await newKey.waitFor();
  await upgrade(page, "**/settings", () => page.unroute(parts));
  const loaded = page.waitForEvent("load");
  await newKey.click();
  await loaded;
  await newKey.click();
  await page.getByRole("dialog").getByLabel("Name").waitFor();
  expect(problems).toEqual([]);
});

it("a tab with typed text that was open during an upgrade does not reload when the pointer is over a link", async () => {
  const { page, problems } = await stage.dashboard.openAs(stage.account);
  await page.goto("/targets/new?kind=mailbox");
  const name = page.getByLabel("Display name (optional)");
  await name.fill("typed here");
  await upgrade(page, "**/targets/new*");
  for (const link of ["Replays", "Customers"]) {
    const refused = page.waitForResponse(parts);
    await page.getByRole("link", { name: link }).hover();
    await refused;
  }
  expect(await name.inputValue()).toBe("typed here");
  expect(problems).toEqual([]);
});

it("a part that cannot be loaded while the service is unreachable shows an error, and Retry loads it", async () => {
  const { page, problems } = await stage.dashboard.openAs(stage.account);
  await page.goto("/settings");
  const newKey = page.getByRole("button", { name: "New key" });
  await newKey.waitFor();
  await page.route("**", (route) => route.abort());
  await newKey.click();
  await page.getByText("A part of this page could not be loaded").waitFor();
  await page.unroute("**");
  await page.getByRole("button", { name: "Retry" }).click();
  await newKey.click();
  await page.getByRole("dialog").getByLabel("Name").waitFor();
  expect(problems).toEqual([]);
});

it("a page not visited before shows an error while the service is unreachable, and Retry loads it afterwards", async () => {
  const { page, problems } = await stage.dashboard.openAs(stage.account);
  await page.goto("/settings");
  await page.getByRole("button", { name: "New key" }).waitFor();
  await page.route("**", (route) => route.abort());
  await page.getByRole("link", { name: "Customers" }).click();
  await page.getByText("A part of this page could not be loaded").waitFor();
  // While the service is unreachable, Retry does not reload the page.
  await page.getByRole("button", { name: "Retry" }).click();
  await page.getByText("A part of this page could not be loaded").waitFor();
  await page.unroute("**");
  await page.getByRole("button", { name: "Retry" }).click();
  await page.getByRole("heading", { name: "Customers" }).waitFor();
  expect(problems).toEqual([]);
});

it("a tab asks a service that is away less and less often, and again at once when the browser is online", async () => {
  const { page, problems } = await stage.dashboard.openAs(stage.account);
  await page.clock.install();
  await page.route("**/api/v1/stream", (route) => route.abort());
  await page.goto("/?skip=1");
  await page.getByRole("button", { name: /^Reconnecting/ }).waitFor();
  await page.clock.pauseAt(Date.now() + 60_000);
  let asked = 0;
  await page.route("**/api/**", (route) => {
    asked += 1;
    return route.abort();
  });
  for (let second = 0; second < 300; second++) await page.clock.runFor(1000);
  expect(asked).toBeGreaterThan(0);
  expect(asked).toBeLessThan(100);
  await page.unrouteAll();
  await page.evaluate("dispatchEvent(new Event('online'))");
  await page.getByRole("button", { name: /^Live/ }).waitFor();
  expect(problems).toEqual([]);
});

it("the overview opens in a browser whose language is not a valid language tag", async () => {
  const { page, context, problems } = await stage.dashboard.openAs(stage.account);
  await context.addInitScript(
    'Object.defineProperty(navigator, "language", { value: "en-US@posix", configurable: true })',
  );
  const { id } = await stage.targetAt("");
  await stage.organization.send(id);
  await page.goto("/?skip=1");
  await page.locator(".uplot canvas").waitFor();
  expect(problems).toEqual([]);
});

it("the chart shows the figures of the step under the pointer", async () => {
  const owner = await stage.dashboard.newAccount();
  const { id } = await createWebhookTarget(stage.dashboard.service, owner, stage.receiver.url);
  await sendItem(stage.dashboard.service, owner, id);
  const { page } = await stage.dashboard.openAs(owner);
  await page.goto("/?skip=1&range=24h");
  const over = page.locator(".uplot .u-over");
  await over.waitFor();
  const { width, height } = (await over.boundingBox())!;
  // The newest step is the last bar on the right.
  await expect
    .poll(async () => {
      await over.hover({ position: { x: width / 2, y: height / 2 } });
      await over.hover({ position: { x: width - 2, y: height / 2 } });
      return page.getByText("1 delivered").count();
    })
    .toBe(1);
});

it("due times and the filter of the last hour follow the service's clock when the browser's clock is wrong", async () => {
  const { service } = stage.dashboard;
  const owner = await stage.dashboard.newAccount();
  const { id: target } = await createWebhookTarget(service, owner, `${stage.receiver.url}/broken`, {
    retry_interval_seconds: 3600,
  });
  const item = await sendItem(service, owner, target, { event_type: "order.paid" });
  const path = `/api/v1/events/${item}`;
  await until(async () => {
    const { body } = await service.call("GET", path, { key: owner.api_key });
    return body.event.status === "RETRYING";
  });
  const { page, context, problems } = await stage.dashboard.openAs(owner);
  // The browser's clock is three hours fast.
  await context.addInitScript(`{
    const now = Date.now.bind(Date);
    Date.now = () => now() + 10_800_000;
  }`);
  await page.goto(`/items/${item}`);
  await page.getByText(/^Attempt 2 of \d+ in \d+/).waitFor();
  await visit(page, "/items?time=1h");
  await page.getByRole("link", { name: "order.paid" }).waitFor();
  expect(problems).toEqual([]);
});
