import { expect, it, onTestFinished } from "vitest";
import { testPool } from "../../server/test/support/fixtures.ts";
import { createWebhookTarget, sendItems } from "../../server/test/support/items.ts";
import { storeDueItems } from "../../server/test/support/storedItems.ts";
import { stageOfFile } from "./support/stage.ts";

const stage = stageOfFile();

it("shows a failing target and the reason, changes its URL and replays all failed items", async () => {
  const target = await stage.targetAt("/broken", { name: "warehouse", max_retries: 0 });
  const ids = await sendItems(stage.dashboard.service, stage.account, target.id, 3);
  const { page, problems } = await stage.dashboard.openAs(stage.account);
  await page.goto("/items?status=FAILED");
  await expect.poll(() => page.locator("main a[href*='/items/']").count()).toBe(3);
  await page.locator("main a[href*='/items/']").first().click();
  await page.getByText("Failed permanently at the first attempt, with 503.", { exact: false }).waitFor();
  await page.getByText("no healthy upstream").waitFor();
  expect(ids).toContain(new URL(page.url()).searchParams.get("open"));
  await page.getByRole("dialog").getByRole("link", { name: "warehouse" }).click();
  await page.getByRole("button", { name: "Send a test" }).click();
  await page.getByRole("dialog", { name: "Not delivered" }).getByText("503", { exact: true }).waitFor();
  // While the next test is running, no result is shown.
  const letGo = Promise.withResolvers<void>();
  await page.route("**/test", async (route) => {
    await letGo.promise;
    await route.fallback();
  });
  await page.getByRole("button", { name: "Send another" }).click();
  await page.getByRole("dialog", { name: "Sending…" }).waitFor();
  letGo.resolve();
  await page.getByRole("dialog", { name: "Not delivered" }).getByText("503", { exact: true }).waitFor();
  await page.getByRole("button", { name: "Done" }).click();
  await page.getByLabel("Sections").getByRole("link", { name: "Settings" }).click();
  await page.getByLabel("URL", { exact: true }).fill(`${stage.receiver.url}/mended`);
  await page.getByRole("button", { name: "Save" }).click();
  await page.getByText("Saved.").waitFor();
  await page.getByRole("button", { name: "Send a test" }).click();
  await page.getByRole("dialog", { name: "Delivered", exact: true }).waitFor();
  await page.getByRole("button", { name: "Done" }).click();
  await page.getByRole("button", { name: "Replay failures…" }).click();
  await page.getByText("3 items match.").waitFor();
  await page.getByRole("button", { name: "Replay 3" }).click();
  await page.getByRole("heading", { name: "Replay: done" }).waitFor();
  await page.getByText("3 of 3").waitFor();
  await expect
    .poll(() =>
      page.getByText("Delivered", { exact: true }).locator("xpath=following-sibling::p[1]").textContent(),
    )
    .toBe("3");
  await page.getByRole("link", { name: "Its items" }).click();
  await expect.poll(() => page.getByText("DELIVERED", { exact: true }).count()).toBe(3);
  expect(await stage.receiver.arrivals(3, { path: "/mended" })).toHaveLength(4);

  // A failed item whose replay was delivered is not offered again, and a delivered item is replayed only after a
  // confirmation.
  await page.goto("/items?status=FAILED");
  await expect.poll(() => page.getByText("replayed, delivered").count()).toBe(3);
  await page.keyboard.press("j");
  await page.keyboard.press("x");
  await page.getByRole("button", { name: "Replay all 1…" }).waitFor();
  expect(await page.getByRole("button", { name: "Replay 1", exact: true }).count()).toBe(0);
  await page.keyboard.press("r");
  const question = page.getByRole("dialog", { name: "Replay this item?" });
  await question.getByText("It was replayed already, and that replay is DELIVERED.").waitFor();
  await page.keyboard.press("Escape");
  await page.goto(`/items/${ids[0]}`);
  await page.getByText("Replayed by").waitFor();
  await page.getByRole("button", { name: "Replay as new…" }).click();
  await question.getByRole("button", { name: "Replay", exact: true }).click();
  await page.getByRole("button", { name: "Follow" }).click();
  await page.getByText("Replay of").waitFor();
  const renewed = new URL(page.url()).pathname.split("/").at(-1);
  const last = (await stage.receiver.arrivals(5, { path: "/mended" })).at(-1)!;
  expect([last.id, last.headers["x-source-event-id"]]).toEqual([renewed, ids[0]]);
  expect(problems).toEqual([]);
});

it("replays all items that match a filter, shown or not, and cancels a running replay", async () => {
  const target = await stage.targetAt("/many");
  const ids = await sendItems(stage.dashboard.service, stage.account, target.id, 40);
  // Waits until the deliveries are recorded: an item that has only reached the receiver would not be counted.
  for (const id of ids) await stage.organization.settled(id, "DELIVERED");
  const { page, problems } = await stage.dashboard.openAs(stage.account);
  await page.goto(`/items?status=DELIVERED&target=${target.id}`);
  await expect.poll(() => page.locator("main a[href*='/items/']").count()).toBeGreaterThan(10);
  await page.keyboard.press("j");
  await page.keyboard.press("x");
  // A delivered item is sent again only after a confirmation.
  await page.getByRole("button", { name: "Replay all 1…" }).click();
  await page
    .getByRole("dialog", { name: "Replay all 1?" })
    .getByText("Delivered, acknowledged or replayed already: 1.")
    .waitFor();
  await page.keyboard.press("Escape");
  await page.getByRole("button", { name: /^Select all \d+ shown/ }).click();
  await page.getByRole("button", { name: "Replay all that match…" }).click();
  await page.getByText("40 items match.").waitFor();
  await page.getByLabel("Rate limit (per second)").fill("1");
  await page.getByRole("button", { name: "Replay 40" }).click();
  await page.getByRole("heading", { name: "Replay: running" }).waitFor();
  await page.getByRole("button", { name: "Cancel…" }).click();
  await page.getByRole("button", { name: "Cancel the replay" }).click();
  await page.getByRole("heading", { name: "Replay: canceled" }).waitFor();
  expect(problems).toEqual([]);
});

it("asks before unsaved settings are discarded, and keeps them while the target changes elsewhere", async () => {
  const { service } = stage.dashboard;
  const target = await stage.targetAt("/unsaved", { name: "unsaved" });
  const { page, problems } = await stage.dashboard.openAs(stage.account);
  await page.goto(`/targets/${target.id}?tab=settings`);
  const name = page.getByLabel("Name", { exact: true });
  await name.fill("typed here");
  const question = page.getByRole("dialog", { name: "Discard unsaved changes?" });
  await page.getByLabel("Pages").getByRole("link", { name: "Items" }).click();
  await question.getByRole("button", { name: "Keep editing" }).click();
  expect(await name.inputValue()).toBe("typed here");

  const { status } = await service.call("PATCH", `/api/v1/targets/${target.id}`, {
    key: stage.account.api_key,
    body: { description: "changed elsewhere" },
  });
  expect(status).toBe(200);
  await page.getByRole("button", { name: "Save" }).click();
  await page.getByText("Saved.").waitFor();
  await expect.poll(() => page.getByLabel("Description").inputValue()).toBe("changed elsewhere");
  await page.getByRole("heading", { name: "typed here" }).waitFor();

  await name.fill("never saved");
  const closing = new Promise<string>((resolve) => {
    page.once("dialog", (dialog) => {
      resolve(dialog.type());
      void dialog.dismiss();
    });
  });
  await page.evaluate("location.reload()");
  expect(await closing).toBe("beforeunload");
  await page.getByLabel("Sections").getByRole("link", { name: "Health" }).click();
  await question.getByRole("button", { name: "Discard" }).click();
  await page.getByText("Last 24 hours").waitFor();
  await page.getByLabel("Sections").getByRole("link", { name: "Settings" }).click();
  expect(await name.inputValue()).toBe("typed here");
  expect(problems).toEqual([]);
});

it("keeps secret headers without showing them, and asks whether to send or discard held items", async () => {
  const target = await stage.targetAt("/headers", {
    name: "with headers",
    headers: { Authorization: "Bearer nobody-sees-this" },
  });
  const { page, problems } = await stage.dashboard.openAs(stage.account);
  await page.goto(`/targets/${target.id}?tab=settings`);
  await page.getByRole("button", { name: "Add a header" }).click();
  await page.getByRole("textbox", { name: "Header 2" }).fill("X-Tenant");
  await page.getByRole("checkbox", { name: "Secret" }).nth(1).uncheck();
  await page.getByLabel("Value 2").fill("shop-7");
  await page.getByLabel("Rate limit (per second)").fill("250.5");
  await page.getByLabel("Concurrency").fill("4");
  await page.getByRole("button", { name: "Save" }).click();
  await page.getByText("Saved.").waitFor();
  const { body } = await stage.dashboard.service.call("GET", `/api/v1/targets/${target.id}`, {
    key: stage.account.api_key,
  });
  expect(body).toMatchObject({
    headers: { Authorization: "***", "X-Tenant": { value: "shop-7", secret: false } },
    rate_limit_per_second: 250.5,
    max_concurrency: 4,
  });
  await page.getByRole("button", { name: "Pause", exact: true }).click();
  await page.getByRole("button", { name: "Enable", exact: true }).waitFor();
  const id = await stage.organization.send(target.id);
  await page.getByRole("button", { name: "Enable…" }).click();
  await page.getByText("1 held item waits for it.").waitFor();
  await page.getByLabel("Discard them", { exact: false }).check();
  await page.getByLabel("Type discard to confirm").fill("discard");
  await page.getByRole("button", { name: "Enable and discard 1" }).click();
  await page.getByText("Enabled; 1 canceled.").waitFor();
  expect(await stage.organization.read(id)).toMatchObject({
    event: { status: "CANCELED" },
  });
  const sent = await stage.organization.send(target.id);
  const [received] = await stage.receiver.arrivals(1, { path: "/headers" });
  expect(received).toMatchObject({
    id: sent,
    headers: { authorization: "Bearer nobody-sees-this", "x-tenant": "shop-7" },
  });
  await page.goto(`/items/${sent}`);
  await page.getByText("shop-7").waitFor();
  expect(await page.content()).not.toContain("nobody-sees-this");
  expect(problems).toEqual([]);
});

it("says so when counting waiting items stopped at a limit", async () => {
  const { id } = await stage.targetAt("/many", { name: "of many" });
  const pause = { key: stage.account.api_key, body: { enabled: false } };
  await stage.dashboard.service.call("PATCH", `/api/v1/targets/${id}`, pause);
  const pool = testPool(stage.dashboard.database, 1);
  onTestFinished(() => pool.end());
  await storeDueItems(pool, { orgId: stage.account.user.org_id, targetId: id, count: 2_501 });
  const { page } = await stage.dashboard.openAs(stage.account);
  await page.goto("/targets?name=of many");
  await page.getByTitle("Due now").getByText("2,500+", { exact: true }).waitFor();
  await page.goto(`/targets/${id}?tab=health`);
  await page.getByText("2,500+", { exact: true }).waitFor();
  await page.getByRole("button", { name: "Enable…" }).click();
  await expect.poll(() => page.getByText("2,500+ held items wait for it.").count()).toBe(1);
});

it("cancels a waiting item, and erases an item after the confirmation is typed", async () => {
  const target = await stage.targetAt("/broken", { retry_interval_seconds: 3600 });
  const id = await stage.organization.send(target.id, {
    planted: "to be forgotten",
  });
  const { page, problems } = await stage.dashboard.openAs(stage.account);
  await page.goto(`/items/${id}`);
  await page.getByText("Attempt 2 of").waitFor();
  await page.getByRole("button", { name: "Cancel…" }).click();
  await page.getByRole("button", { name: "Cancel the item" }).click();
  await page.getByText("Canceled before it was delivered").waitFor();
  await page.getByText("to be forgotten").waitFor();
  await page.getByRole("button", { name: "Erase…" }).click();
  await page.getByLabel("Type erase to confirm").fill("erase");
  await page.getByRole("button", { name: "Erase", exact: true }).click();
  await page.getByText("The payload was erased, or is past its retention.").waitFor();
  expect(await page.getByText("to be forgotten").count()).toBe(0);
  await page.getByRole("button", { name: "Erase…" }).waitFor({ state: "detached" });
  expect(problems).toEqual([]);
});

it("erases the content of all items of a correlation id", async () => {
  const target = await stage.targetAt("/erased");
  const { body } = await stage.dashboard.service.call("POST", `/t/${target.id}`, {
    key: stage.account.api_key,
    headers: { "x-correlation-id": "customer-7" },
    body: { planted: "to be forgotten" },
  });
  const { page, problems } = await stage.dashboard.openAs(stage.account);
  await page.goto("/settings?tab=erasures");
  const erase = page.getByRole("button", { name: "Erase all items…" });
  await page.getByLabel("Correlation id").fill("customer 7");
  await page.getByText("Letters, digits, _ and -").waitFor();
  expect(await erase.isDisabled()).toBe(true);
  await page.getByLabel("Correlation id").fill("customer-7");
  await erase.click();
  await page.getByLabel("Type customer-7 to confirm").fill("customer-7");
  await page.getByRole("button", { name: "Erase", exact: true }).click();
  // Looks for this erasure's row, because the list also shows the erasure of an earlier test.
  const row = page.getByRole("listitem").filter({ hasText: "customer-7" });
  await row.getByText(/Done, 1 of 1 erased/).waitFor();
  await row.getByRole("link", { name: "customer-7" }).click();
  // By keyboard, because a row that is rendered again between mouse down and mouse up gets no click.
  await page.locator(`main a[href*='${body.id}']`).press("Enter");
  await page.getByText("The payload was erased, or is past its retention.").waitFor();
  expect(problems).toEqual([]);
});

it("tries a filter on a sample, and then sends the target only matching items", async () => {
  const target = await stage.targetAt("/filtered");
  const { page, problems } = await stage.dashboard.openAs(stage.account);
  await page.goto(`/targets/${target.id}?tab=settings`);
  const filter = page.getByLabel("Filter", { exact: true });
  await filter.fill('{"payload": {"amount": [{"numeric": [">=", "x"]}]}}');
  await page.getByRole("button", { name: "Save" }).click();
  await page
    .getByText("filter.payload.amount.0.numeric must be a comparison", { exact: false })
    .first()
    .waitFor();
  await filter.fill('{"payload": {"amount": [{"numeric": [">=", 100]}]}}');
  await page.getByText("Try the filter on a sample").click();
  await page.getByLabel("Sample payload").fill('{"amount": 80}');
  await page.getByRole("button", { name: "Try it" }).click();
  await page.getByText("It differs: the item would be FILTERED.").waitFor();
  await page.getByText("and 80 is there").waitFor();
  // The verdict about the previous sample disappears.
  await page.getByLabel("Sample payload").fill('{"amount": 800}');
  await page.getByText("It differs").waitFor({ state: "detached" });
  await page.getByRole("button", { name: "Save" }).click();
  await page.getByText("Saved.").waitFor();
  const small = await stage.organization.send(target.id, { amount: 80 });
  expect((await stage.organization.read(small)).event.status).toBe("FILTERED");
  expect(problems.filter((problem) => !problem.includes("400"))).toEqual([]);
});

it("accepts an object that is typed letter by letter, and shows its errors meanwhile", async () => {
  const target = await stage.targetAt("");
  const { page, problems } = await stage.dashboard.openAs(stage.account);
  await page.goto(`/targets/${target.id}?tab=settings`);
  const metadata = page.getByLabel("Metadata");
  await metadata.pressSequentially('{"plan": ');
  await page.getByText("Invalid JSON", { exact: false }).waitFor();
  await metadata.fill('{"plan": "gold", "id": 12345678901234567891}');
  await page
    .getByText("12345678901234567891 is a whole number beyond 9007199254740991", { exact: false })
    .waitFor();
  await metadata.fill('{"plan": ');
  await metadata.pressSequentially('"gold"}');
  await page.getByRole("button", { name: "Save" }).click();
  await page.getByText("Saved.").waitFor();
  expect(problems).toEqual([]);
});

it("says how many targets were counted if not all were", async () => {
  const { service } = stage.dashboard;
  const owner = await stage.dashboard.newAccount();
  for (let number = 0; number < 101; number += 1)
    await createWebhookTarget(service, owner, stage.receiver.url, { name: `of many ${number}` });
  const { page, problems } = await stage.dashboard.openAs(owner);
  await page.goto("/?skip=1");
  await page.getByText("Dead messages are counted in the first 100 of 101 targets.").waitFor();
  await page.getByText("of the first 100 targets").waitFor();
  await page.getByText("of 101", { exact: true }).waitFor();
  expect(problems).toEqual([]);
});

it("shows the error of a URL beside its field", async () => {
  const { page } = await stage.dashboard.openAs(stage.account);
  await page.goto("/targets/new?kind=webhook");
  await page.getByLabel("URL", { exact: true }).fill("https://10.0.0.1/hooks");
  await page.getByRole("button", { name: "Create target" }).click();
  await page.getByRole("alert").filter({ hasText: "not allowed" }).waitFor();
  expect(await page.getByLabel("URL", { exact: true }).getAttribute("aria-invalid")).toBe("true");
});

it("deletes a target only after its name is typed", async () => {
  const target = await stage.targetAt("/gone", { name: "short-lived" });
  const { page } = await stage.dashboard.openAs(stage.account);
  await page.goto(`/targets/${target.id}?tab=settings`);
  await page.getByRole("button", { name: "Delete this target…" }).click();
  const remove = page.getByRole("button", { name: "Delete", exact: true });
  expect(await remove.isDisabled()).toBe(true);
  await page.getByLabel("Type short-lived to confirm").fill("short-lived");
  await remove.click();
  await page.getByText("short-lived was deleted.").waitFor();
  await expect.poll(() => page.getByRole("link", { name: "short-lived" }).count()).toBe(0);
});

it.for([
  ["blanks that the page shows as one", " two  words ", "two words"],
  ["nothing that can be seen", "\u200B", undefined],
] as const)("deletes a target whose name has %s", async ([, name, typed]) => {
  const { service } = stage.dashboard;
  const owner = await stage.dashboard.newAccount();
  const { id } = await createWebhookTarget(service, owner, stage.receiver.url, { name });
  const { page, problems } = await stage.dashboard.openAs(owner);
  await page.goto(`/targets/${id}?tab=settings`);
  await page.getByRole("button", { name: "Delete this target…" }).click();
  const dialog = page.getByRole("dialog");
  await dialog.getByText("This cannot be undone.", { exact: false }).waitFor();
  for (const text of typed === undefined ? [] : [typed]) await dialog.getByRole("textbox").fill(text);
  await dialog.getByRole("button", { name: "Delete", exact: true }).click();
  await page.getByText("No targets yet").waitFor();
  expect(problems).toEqual([]);
});
