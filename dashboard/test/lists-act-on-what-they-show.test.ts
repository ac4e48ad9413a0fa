import type { Page } from "playwright-core";
import { expect, it } from "vitest";
import { createMailboxTarget, createWebhookTarget, sendItem } from "../../server/test/support/items.ts";
import { until } from "../../server/test/support/until.ts";
import { visit } from "./support/browser.ts";
import { stageOfFile } from "./support/stage.ts";

const stage = stageOfFile();

/** A disabled target of a new account: items sent to it stay QUEUED. */
async function newHolder() {
  const { dashboard, receiver } = stage;
  const owner = await dashboard.newAccount();
  const { id: target } = await createWebhookTarget(dashboard.service, owner, receiver.url);
  const { api_key: key } = owner;
  await dashboard.service.call("PATCH", `/api/v1/targets/${target}`, { key, body: { enabled: false } });
  return {
    owner,
    send: (type: string) => sendItem(dashboard.service, owner, target, { event_type: type }),
    cancel: (id: string) => dashboard.service.call("POST", `/api/v1/events/${id}/cancel`, { key }),
  };
}

it("does not offer to replay selected items that the filter has hidden", async () => {
  const { owner, send } = await newHolder();
  await send("order.one");
  await send("order.other");
  const { page, problems } = await stage.dashboard.openAs(owner);
  await page.goto("/items?type=order.one");
  await page.getByRole("link", { name: "order.one" }).waitFor();
  await page.getByRole("checkbox").check();
  await page.getByText("1 selected").waitFor();
  await page.getByRole("button", { name: "Remove type: order.one" }).click();
  await page.getByRole("link", { name: "order.other" }).waitFor();
  await page.getByText("1 selected").waitFor();
  const filter = page.getByRole("combobox", { name: "Filter items" });
  await filter.fill("type:order.other");
  await filter.press("Enter");
  await page.getByRole("button", { name: "Remove type: order.other" }).waitFor();
  await page.getByRole("link", { name: "order.one" }).waitFor({ state: "detached" });
  expect(await page.getByText("selected", { exact: false }).count()).toBe(0);
  expect(await page.getByRole("button", { name: /^Replay all/ }).count()).toBe(0);
  expect(problems).toEqual([]);
});

it("shows how many items newly match a status, and how many no longer match", async () => {
  const { owner, send, cancel } = await newHolder();
  const [older, newer] = [await send("order.older"), await send("order.newer")];
  await cancel(newer);
  const { page, problems } = await stage.dashboard.openAs(owner);
  await page.goto("/items?status=CANCELED");
  await page.getByRole("link", { name: "order.newer" }).waitFor();
  await page.getByRole("button", { name: /^Live/ }).waitFor();
  // This item was accepted before the first row.
  await cancel(older);
  await page.getByRole("button", { name: "1 new" }).click();
  await page.getByRole("link", { name: "order.older" }).waitFor();

  await page.goto("/items?status=QUEUED");
  await page.getByText("No item matches").waitFor();
  await page.getByRole("button", { name: /^Live/ }).waitFor();
  const last = await send("order.last");
  await page.getByRole("button", { name: "1 new" }).click();
  await page.getByRole("link", { name: "order.last" }).waitFor();
  await cancel(last);
  await page.getByRole("button", { name: "1 no longer matches" }).click();
  await page.getByText("No item matches").waitFor();
  expect(problems).toEqual([]);
});

it("removes the last message although the pointer is over it, and does not show it again with the next message", async () => {
  const { service } = stage.dashboard;
  const owner = await stage.dashboard.newAccount();
  const { api_key: key } = owner;
  const mailbox = await createMailboxTarget(service, owner);
  const { page, problems } = await stage.dashboard.openAs(owner);
  const gone = await sendItem(service, owner, mailbox, { event_type: "ticket.gone" });
  await page.goto(`/mailboxes/${mailbox}`);
  await page.getByRole("button", { name: /^Live/ }).waitFor();
  await page.getByRole("button", { name: /ticket\.gone/ }).hover();
  await service.call("POST", `/api/v1/events/${gone}/cancel`, { key });
  // Held rows stay while the pointer is over them, but the empty state replaces them.
  await page.getByText("No waiting messages").waitFor();
  await page.getByRole("heading", { level: 1 }).hover();
  await sendItem(service, owner, mailbox, { event_type: "ticket.new" });
  await page.getByRole("button", { name: /ticket\.new/ }).waitFor();
  expect(await page.getByRole("button", { name: /ticket\.gone/ }).count()).toBe(0);
  expect(problems).toEqual([]);
});

it("keeps the figures of the listed mailboxes when more mailboxes are shown", async () => {
  const { service } = stage.dashboard;
  const owner = await stage.dashboard.newAccount();
  const ids: string[] = [];
  for (let n = 0; n < 101; n++) ids.push(await createMailboxTarget(service, owner));
  const { page, problems } = await stage.dashboard.openAs(owner);
  await page.goto("/mailboxes");
  const figures = page.locator("main li dl").filter({ hasText: "Ready0" });
  await until(
    () => figures.count(),
    (count) => count === 100,
  );
  const letGo = Promise.withResolvers<void>();
  await page.route("**/api/v1/target-health?*", async (route) => {
    await letGo.promise;
    await route.fallback();
  });
  const asked = page.waitForRequest("**/api/v1/target-health?*");
  await page.getByRole("button", { name: "Show more: 100 of 101" }).click();
  await asked;
  expect(await figures.count()).toBe(100);
  letGo.resolve();
  await until(
    () => figures.count(),
    (count) => count === 101,
  );
  await visit(page, "/targets");
  await page.getByRole("heading", { name: "Targets" }).waitFor();
  await expectMarkedInSight(page);
  expect(problems).toEqual([]);
});

it("shows the next page of messages, loaded by keyboard, although the pointer is over the first message", async () => {
  const { service } = stage.dashboard;
  const owner = await stage.dashboard.newAccount();
  const mailbox = await createMailboxTarget(service, owner);
  for (let n = 0; n < 100; n++) await sendItem(service, owner, mailbox, { event_type: "ticket.listed" });
  await sendItem(service, owner, mailbox, { event_type: "ticket.last" });
  const { page, problems } = await stage.dashboard.openAs(owner);
  await page.goto(`/mailboxes/${mailbox}`);
  const more = page.getByRole("button", { name: "Load more" });
  await more.focus();
  await page
    .getByRole("button", { name: /ticket\.listed/ })
    .last()
    .hover();
  await page.keyboard.press("Enter");
  await more.waitFor({ state: "detached" });
  await page.keyboard.press("End");
  await page.getByRole("button", { name: /ticket\.last/ }).waitFor();
  expect(problems).toEqual([]);
});

it("marks a replayed item beyond the first page, and asks before replaying it again", async () => {
  const { owner, send, cancel } = await newHolder();
  await cancel(await send("order.oldest"));
  for (let n = 0; n < 100; n++) await send("order.newer");
  const { page, problems } = await stage.dashboard.openAs(owner);
  await page.goto("/items");
  await page.getByRole("link", { name: "order.newer" }).first().waitFor();
  await expectMarkedInSight(page);
  const oldest = page.getByRole("row", { name: /order\.oldest/ });
  await until(async () => {
    await page.keyboard.press("End");
    return oldest.count();
  });
  await oldest.getByRole("checkbox").check();
  // An item whose replay was refused stays selected.
  await page.route("**/replay", (route) => route.fulfill({ status: 503 }), { times: 1 });
  await page.getByRole("button", { name: "Replay 1" }).click();
  await page.getByText("0 replayed as new items. 1 were refused").waitFor();
  await page.getByRole("button", { name: "Replay 1" }).click();
  await page.getByText("1 replayed as new items.").waitFor();
  await oldest.getByText("replayed, queued").waitFor();
  expect(problems).toEqual([]);
});

it("counts an item that was accepted while an earlier read was still in flight", async () => {
  const { owner, send } = await newHolder();
  await send("order.listed");
  const { page, problems } = await stage.dashboard.openAs(owner);
  await page.goto("/items");
  await page.getByRole("link", { name: "order.listed" }).waitFor();
  await page.getByRole("button", { name: /^Live/ }).waitFor();
  const letGo = Promise.withResolvers<void>();
  const read = Promise.withResolvers<void>();
  await page.route(
    "**/api/v1/events?*",
    async (route) => {
      const response = await route.fetch();
      read.resolve();
      await letGo.promise;
      await route.fulfill({ response });
    },
    { times: 1 },
  );
  await send("order.first");
  await read.promise;
  await send("order.second");
  // Meanwhile the page would have looked for new items several times.
  const begin = await page.evaluate(() => performance.now());
  await until(
    () => page.evaluate(() => performance.now()),
    (now) => now > begin + 3000,
  );
  letGo.resolve();
  await page.getByRole("button", { name: "2 new" }).waitFor();
  expect(problems).toEqual([]);
});

/** Moves down a list with j beyond the window, and up again with k. Expects the marked row to be visible. */
async function expectMarkedInSight(page: Page): Promise<void> {
  for (const key of ["j", "k"]) {
    for (let row = 0; row < 40; row++) await page.keyboard.press(key);
    await until(
      () => page.evaluate<boolean[]>(endsSeen),
      (ends) => ends.every(Boolean),
    );
  }
}

/** Runs in the page: whether the upper and the lower end of the marked row are visible. */
const endsSeen = `(() => {
  const { left, top, bottom } = document.querySelector("[data-marked=true]").getBoundingClientRect();
  return [top + 4, bottom - 4].map((y) => document.elementFromPoint(left + 100, y)?.closest("[data-marked=true]") != null);
})()`;
