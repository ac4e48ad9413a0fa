import { expect, it } from "vitest";
import { createMailboxTarget, createWebhookTarget, sendItem } from "../../server/test/support/items.ts";
import { until } from "../../server/test/support/until.ts";
import { untilFocused } from "./support/browser.ts";
import { stageOfFile } from "./support/stage.ts";

const stage = stageOfFile();

it("keeps every letter and the cursor's place in the filter of a list", async () => {
  const { page, problems } = await stage.dashboard.openAs(stage.account);
  await page.goto("/customers");
  const field = page.getByLabel("Find customers by the beginning of their uid");
  await field.focus();
  await page.keyboard.type("shop-customer-7");
  for (let n = 0; n < "customer-7".length; n++) await page.keyboard.press("ArrowLeft");
  await page.keyboard.type("big-");
  expect(await field.inputValue()).toBe("shop-big-customer-7");
  await until(() => page.url().endsWith("prefix=shop-big-customer-7"));
  expect(await field.inputValue()).toBe("shop-big-customer-7");
  await page.getByRole("button", { name: "Show all customers" }).click();
  await until(async () => (await field.inputValue()) === "");
  expect(problems).toEqual([]);
});

it("keeps the mark on its item when new items are shown, and begins no range at a row that is gone", async () => {
  const { service } = stage.dashboard;
  const owner = await stage.dashboard.newAccount();
  const { id: target } = await createWebhookTarget(service, owner, stage.receiver.url, { enabled: false });
  const send = (type: string): Promise<string> => sendItem(service, owner, target, { event_type: type });
  for (const type of ["order.a", "order.b", "order.b", "order.b"]) await send(type);
  const marked = await send("order.a");
  const { page, problems } = await stage.dashboard.openAs(owner);
  await page.goto("/items");
  await page.getByRole("link", { name: "order.a" }).first().waitFor();
  await page.getByRole("button", { name: /^Live/ }).waitFor();
  await page.keyboard.press("j");
  await send("order.b");
  await page.getByRole("button", { name: "1 new" }).click();
  await until(async () => (await page.getByRole("checkbox").count()) === 6);
  expect(await page.locator("[data-marked=true]").getByLabel(`Select ${marked}`).count()).toBe(1);
  await page.keyboard.press("x");
  await page.getByText("1 selected").waitFor();
  const filter = page.getByRole("combobox", { name: "Filter items" });
  await filter.fill("type:order.b");
  await filter.press("Enter");
  await until(async () => (await page.getByRole("checkbox").count()) === 4);
  await page
    .getByRole("checkbox")
    .last()
    .click({ modifiers: ["Shift"] });
  await page.getByText("1 selected").waitFor();
  expect(problems).toEqual([]);
});

it("keeps the focus in the filter of publications, which follows the address", async () => {
  const { page, problems } = await stage.dashboard.openAs(stage.account);
  await page.goto("/publications");
  const field = page.getByLabel("Filter by the customer's uid");
  await field.fill("shop-7");
  await field.press("Enter");
  await page.getByText("No publication matches").waitFor();
  await untilFocused(page, "Filter by the customer's uid");
  await field.fill("not submitted");
  await page.goBack();
  await page.getByText("No publications yet").waitFor();
  expect(await field.inputValue()).toBe("");
  expect(problems).toEqual([]);
});

it("scrolls the palette to the marked choice, and takes back what it said of another id", async () => {
  const { page, problems } = await stage.dashboard.openAs(stage.account);
  const letGo = Promise.withResolvers<void>();
  await page.route("**/api/v1/auth/me", async (route) => {
    await letGo.promise;
    await route.fallback();
  });
  await page.goto("/usage");
  await page.getByText("Accepted this month").waitFor();
  await page.keyboard.press("Control+k");
  const palette = page.getByRole("dialog", { name: "Go to" });
  await palette.getByRole("combobox").waitFor();
  await page.keyboard.press("ArrowUp");
  const choice = palette.getByRole("option", { selected: true });
  expect(await choice.textContent()).toBe("Demo");
  // The role arrives only now, and inserts a choice before the marked one.
  letGo.resolve();
  await palette.getByRole("option", { name: "New target" }).waitFor();
  expect(await choice.textContent()).toBe("Demo");
  await expect
    .poll(async () => {
      const [one, list] = [await choice.boundingBox(), await palette.getByRole("listbox").boundingBox()];
      return one!.y + one!.height <= list!.y + list!.height;
    })
    .toBe(true);
  const field = palette.getByRole("combobox");
  await field.fill("0".repeat(32));
  await page.keyboard.press("Enter");
  await palette.getByText("Nothing in your organization has this id.").waitFor();
  await field.fill("1".repeat(32));
  await palette.getByText(`Open ${"1".repeat(32)}`).waitFor();
  expect(await palette.getByText("Nothing in your organization has this id.").count()).toBe(0);
  expect(problems).toEqual([]);
});

it("keeps the focus in the choice of a tryout's answer while it is saved", async () => {
  const { service } = stage.dashboard;
  const url = `https://tryout.postrider.invalid/${"ab".repeat(16)}`;
  const { body } = await service.call("POST", "/api/v1/targets", {
    key: stage.account.api_key,
    body: { kind: "webhook", name: "tried", url },
  });
  const { page, problems } = await stage.dashboard.openAs(stage.account);
  await page.goto(`/targets/${body.id}?tab=received`);
  const letGo = Promise.withResolvers<void>();
  await page.route(`**/api/v1/targets/${body.id}`, async (route) => {
    if (route.request().method() === "PATCH") await letGo.promise;
    await route.fallback();
  });
  const field = page.getByLabel("Answer deliveries with");
  await field.focus();
  const asked = page.waitForRequest((request) => request.method() === "PATCH");
  await field.selectOption("503");
  await asked;
  expect(await field.inputValue()).toBe("503");
  expect(await field.isDisabled()).toBe(false);
  letGo.resolve();
  await page.getByText("The next deliveries are answered with 503.").waitFor();
  await untilFocused(page, "Answer deliveries with");
  expect(problems).toEqual([]);
});

it("tells screen readers of a result while a drawer is open, and keeps it under the pointer", async () => {
  const { service } = stage.dashboard;
  const mailbox = await createMailboxTarget(service, stage.account);
  const id = await sendItem(service, stage.account, mailbox, { event_type: "ticket" });
  const { page, problems } = await stage.dashboard.openAs(stage.account);
  await page.clock.install();
  await page.goto(`/mailboxes/${mailbox}?open=${id}`);
  await page.getByRole("button", { name: "Reject…" }).click();
  const dialog = page.getByRole("dialog", { name: "Reject this message?" });
  await dialog.getByLabel("Reason").fill("unknown");
  await dialog.getByRole("button", { name: "Reject", exact: true }).click();
  await dialog.waitFor({ state: "detached" });
  // By role, the driver finds only what is not hidden from screen readers.
  const told = page.getByRole("status").filter({ hasText: "Rejected; the message is dead." });
  await told.waitFor();
  await page.getByText("Rejected; the message is dead.").hover();
  await page.clock.fastForward(20_000);
  expect(await told.count()).toBe(1);
  await page.mouse.move(5, 300);
  await page.clock.fastForward(2000);
  await told.waitFor({ state: "detached" });
  expect(problems).toEqual([]);
});

it("has the exact time of a countdown in its tooltip", async () => {
  const { page, problems } = await stage.dashboard.openAs(stage.account);
  await stage.dashboard.service.call("POST", "/api/v1/invitations", {
    session: stage.account.session_token,
    body: { role: "viewer" },
  });
  await page.goto("/settings?tab=members");
  const left = page.locator("time", { hasText: /^(6|7) d/ });
  expect(await left.first().getAttribute("title")).toMatch(/\d{4}.*\d\d:\d\d:\d\d/);
  expect(problems).toEqual([]);
});

it("suggests event types also after a comma without a space", async () => {
  const { service } = stage.dashboard;
  const key = stage.account.api_key;
  await service.call("PUT", "/api/v1/event-types/invoice.paid", { key, body: {} });
  const target = await stage.targetAt("/typed");
  const { page, problems } = await stage.dashboard.openAs(stage.account);
  await page.goto(`/targets/${target.id}?tab=settings`);
  await page.getByLabel("Event types").fill("order.paid,inv");
  await page.locator('datalist option[value="order.paid,invoice.paid"]').waitFor({ state: "attached" });
  expect(problems).toEqual([]);
});

it("keeps the filter and the open delivery of the portal in the address", async () => {
  const { service } = stage.dashboard;
  const key = stage.account.api_key;
  await service.call("PUT", "/api/v1/customers/shop-9", { key, body: {} });
  const target = await stage.targetAt("/portal", { name: "orders", customer_uid: "shop-9" });
  const item = await stage.organization.send(target.id, { event_type: "order.paid" });
  await stage.organization.settled(item, "DELIVERED");
  const { body } = await service.call("POST", "/api/v1/customers/shop-9/portal-links", { key });
  const { page, problems } = await stage.dashboard.open();
  await page.goto(new URL(body.url).pathname + new URL(body.url).hash);
  await page.getByRole("link", { name: "orders" }).click();
  await page.getByRole("button", { name: "order.paid" }).click();
  const drawer = page.getByRole("dialog", { name: "Delivery" });
  await drawer.getByRole("heading", { name: "order.paid" }).waitFor();
  await page.goBack();
  await drawer.waitFor({ state: "detached" });
  await page.getByLabel("Status").selectOption("FAILED");
  await page.getByText("No delivery is FAILED").waitFor();
  await page.reload();
  await page.getByRole("button", { name: "Show all deliveries" }).click();
  await page.getByRole("button", { name: "order.paid" }).waitFor();
  expect(problems).toEqual([]);
});

it("moves a lost focus to the heading above, also if a dialog caught it or the part around was replaced", async () => {
  const { page, problems } = await stage.dashboard.openAs(stage.account);
  await page.goto("/usage");
  await page.getByText("Accepted this month").waitFor();
  await page.getByRole("link", { name: "Usage" }).first().focus();
  await page.evaluate(`(() => {
    const part = '<div><h2>Above</h2><div id="inner"><button id="replaced">Here</button></div></div>';
    const dialog = '<div role="dialog" tabindex="-1" id="caught"><h2>Title</h2><button>There</button><p>End</p></div>';
    document.querySelector("main").insertAdjacentHTML("beforeend", part + dialog);
  })()`);
  await page.locator("#replaced").focus();
  await page.evaluate(`(async () => {
    document.querySelector("#replaced").remove();
    // The observer is called before the part around is removed.
    for (let n = 0; n < 5; n++) await Promise.resolve();
    document.querySelector("#inner").remove();
  })()`);
  await untilFocused(page, "Above");
  await page.locator("#caught button").focus();

  await page.evaluate(`(() => {
    document.querySelector("#caught button").remove();
    document.querySelector("#caught").focus();
  })()`);
  await untilFocused(page, "Title");
  expect(problems).toEqual([]);
});
