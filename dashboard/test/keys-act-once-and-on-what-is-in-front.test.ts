import type { Page } from "playwright-core";
import { expect, it } from "vitest";
import { createWebhookTarget, readEvent, sendItem } from "../../server/test/support/items.ts";
import { until } from "../../server/test/support/until.ts";
import { untilFocused } from "./support/browser.ts";
import { stageOfFile } from "./support/stage.ts";

const stage = stageOfFile();

/** A page, an item that failed for good, and the requests for its replay. */
async function openFailed(): Promise<{ page: Page; problems: string[]; item: string; replays: string[] }> {
  const { dashboard, receiver } = stage;
  const owner = await dashboard.newAccount();
  const { id: target } = await createWebhookTarget(dashboard.service, owner, `${receiver.url}/broken`, {
    max_retries: 0,
  });
  const item = await sendItem(dashboard.service, owner, target, { event_type: "order.failed" });
  await until(
    () => readEvent(dashboard.service, owner, item),
    ({ event }) => event.status === "FAILED",
  );
  const { page, problems } = await dashboard.openAs(owner);
  const replays: string[] = [];
  page.on("request", (request) => {
    if (request.url().endsWith("/replay")) replays.push(request.url());
  });
  return { page, problems, item, replays };
}

it("replays once when the key is held down", async () => {
  const { page, problems, item, replays } = await openFailed();
  await page.goto(`/items/${item}`);
  await page.getByRole("button", { name: "Replay", exact: true }).waitFor();
  // Each `down` after the first is a repeat, as when a key is held down.
  for (let times = 0; times < 10; times += 1) await page.keyboard.down("r");
  await page.keyboard.up("r");
  await page.getByText("Replayed as a new item.").first().waitFor();
  expect(replays).toHaveLength(1);
  expect(problems).toEqual([]);
});

it("ignores the page's keys while a dialog is open", async () => {
  const { page, problems, replays } = await openFailed();
  await page.goto("/items");
  await page.getByRole("link", { name: "order.failed" }).waitFor();
  await page.keyboard.press("j");
  await page.keyboard.press("?");
  const help = page.getByRole("dialog", { name: "Keys" });
  await help.waitFor();
  await page.keyboard.press("r");
  await page.keyboard.press("g");
  await page.keyboard.press("u");
  await page.keyboard.press("x");
  await page.keyboard.press("Escape");
  await help.waitFor({ state: "detached" });
  expect(await page.getByText("1 selected").count()).toBe(0);
  expect(replays).toEqual([]);
  // After the dialog is closed, the page takes keys again, and so does a drawer.
  await page.keyboard.press("x");
  await page.getByText("1 selected").waitFor();
  await page.keyboard.press("Enter");
  await page.getByRole("dialog").getByRole("heading", { name: "order.failed" }).waitFor();
  await page.keyboard.press("r");
  await page.getByText("Replayed as a new item.").waitFor();
  expect(replays).toHaveLength(1);
  expect(problems).toEqual([]);
});

it("acts on the list again after a drawer or dialog that a key opened is closed", async () => {
  const { page, problems } = await openFailed();
  await page.goto("/?skip=1");
  await page.getByRole("heading", { name: "Overview" }).waitFor();
  await page.keyboard.press("g");
  await page.keyboard.press("i");
  await page.getByRole("link", { name: "order.failed" }).waitFor();
  await page.keyboard.press("j");
  for (const key of ["Enter", "?"]) {
    await page.keyboard.press(key);
    await page.getByRole("dialog").waitFor();
    await page.keyboard.press("Escape");
    await page.getByRole("dialog").waitFor({ state: "detached" });
    await untilFocused(page, "main");
  }
  await page.keyboard.press("x");
  await page.getByText("1 selected").waitFor();
  // The focus that a key moves to the filter is visible.
  await page.keyboard.press("/");
  await untilFocused(page, "Filter items");
  const outlines = await page.evaluate(`(() => {
    const around = [];
    for (let at = document.activeElement; at !== null; at = at.parentElement) around.push(at);
    return around.filter((at) => getComputedStyle(at).outlineStyle === "solid").length;
  })()`);
  expect(outlines).toBe(1);
  expect(problems).toEqual([]);
});

it("types into the first field of a dialog, which has the focus when the dialog opens", async () => {
  const { page, problems } = await openFailed();
  await page.goto("/customers?skip=1");
  await page.getByRole("button", { name: "New customer" }).first().press("Enter");
  await untilFocused(page, "Uid");
  await page.keyboard.type("acme");
  await page.keyboard.press("Enter");
  await page.getByRole("heading", { name: "acme" }).waitFor();
  expect(problems).toEqual([]);
});
