import { expect, it } from "vitest";
import { until } from "../../server/test/support/until.ts";
import { visit } from "./support/browser.ts";
import { stageOfFile } from "./support/stage.ts";

const stage = stageOfFile();

it("keeps text that is typed while a target's settings are being saved", async () => {
  const { service } = stage.dashboard;
  const target = await stage.targetAt("/slow");
  const { page, problems } = await stage.dashboard.openAs(stage.account);
  await page.goto(`/targets/${target.id}?tab=settings`);
  const answered = Promise.withResolvers<void>();
  await page.route(`**/api/v1/targets/${target.id}`, async (route) => {
    if (route.request().method() === "PATCH") await answered.promise;
    await route.fallback();
  });
  await page.getByLabel("Name", { exact: true }).fill("saved first");
  const save = page.getByRole("button", { name: "Save" });
  await save.click();
  await page.getByLabel("Description").fill("typed meanwhile");
  await page.getByRole("button", { name: "Add a header" }).click();
  await page.getByRole("textbox", { name: "Header 1" }).fill("X-Tenant");
  await page.getByLabel("Value 1").fill("shop-7");
  answered.resolve();
  await page.getByText("Saved.").waitFor();
  await page.getByRole("heading", { name: "saved first" }).waitFor();
  expect(await page.getByLabel("Description").inputValue()).toBe("typed meanwhile");
  expect(await page.getByLabel("Value 1").inputValue()).toBe("shop-7");
  await save.click();
  await page.getByPlaceholder("unchanged").waitFor();
  const { body } = await service.call("GET", `/api/v1/targets/${target.id}`, { key: stage.account.api_key });
  expect(body).toMatchObject({
    name: "saved first",
    description: "typed meanwhile",
    headers: { "X-Tenant": "***" },
  });
  // A page that is left during a save waits for it instead of asking about saved text.
  const again = Promise.withResolvers<void>();
  await page.route(`**/api/v1/targets/${target.id}`, async (route) => {
    await again.promise;
    await route.fallback();
  });
  await page.getByLabel("Description").fill("saved last");
  await save.click();
  await page.getByRole("link", { name: "Activity" }).click();
  await page.getByRole("dialog", { name: "Discard unsaved changes?" }).waitFor();
  again.resolve();
  await page.getByText("Latest items").waitFor();
  expect(problems).toEqual([]);
});

it("shows portal settings that another admin changed, and keeps text that is typed during a save", async () => {
  const { service } = stage.dashboard;
  const path = "/api/v1/portal-settings";
  const { page, problems } = await stage.dashboard.openAs(stage.account);
  await page.goto("/settings?tab=portal");
  const name = page.getByLabel("Name");
  await name.waitFor();
  await visit(page, "/settings");
  await page.getByRole("button", { name: "New key" }).waitFor();
  const changed = { name: "Changed elsewhere", logo: null, colour: "#0b6e4f", origins: [] };
  expect((await service.call("PUT", path, { key: stage.account.api_key, body: changed })).status).toBe(200);
  // The cached answer is shown first, and read again once it is stale.
  let isRead = false;
  page.on("request", (request) => {
    if (request.url().endsWith(path)) isRead = true;
  });
  await until(async () => {
    await visit(page, "/settings");
    await page.getByRole("button", { name: "New key" }).waitFor();
    isRead = false;
    await visit(page, "/settings?tab=portal");
    await name.waitFor();
    return isRead;
  });
  await expect.poll(() => name.inputValue()).toBe("Changed elsewhere");
  const answered = Promise.withResolvers<void>();
  await page.route(`**${path}`, async (route) => {
    if (route.request().method() === "PUT") await answered.promise;
    await route.fallback();
  });
  await name.fill("Typed here");
  await page.getByRole("button", { name: "Save" }).click();
  await page.getByLabel("Origins that may embed").fill("https://app.example.com");
  answered.resolve();
  await page.getByText("Saved.").waitFor();
  expect(await page.getByLabel("Origins that may embed").inputValue()).toBe("https://app.example.com");
  expect((await service.call("GET", path, { key: stage.account.api_key })).body).toMatchObject({
    ...changed,
    name: "Typed here",
  });
  expect(problems).toEqual([]);
});

it("keeps a typed organization name when another user renames the organization", async () => {
  const account = await stage.dashboard.newAccount();
  const { page, problems } = await stage.dashboard.openAs(account);
  await page.goto("/settings");
  const name = page.getByLabel("Name", { exact: true });
  await name.fill("Typed here");
  const renamed = await stage.dashboard.service.call("PATCH", "/api/v1/orgs", {
    session: account.session_token,
    body: { name: "Changed elsewhere" },
  });
  expect(renamed.status).toBe(200);
  // The checkbox makes the page read the organization again.
  const read = page.waitForResponse(
    (response) => response.url().endsWith("/api/v1/orgs") && response.request().method() === "GET",
  );
  await page.getByLabel("Admins can reveal signing secrets").check();
  expect(await (await read).json()).toMatchObject({ org: { name: "Changed elsewhere" } });
  await page.getByRole("button", { name: "Rename" }).click();
  await page.getByText("Renamed.").waitFor();
  await page.reload();
  await expect.poll(() => name.inputValue()).toBe("Typed here");
  expect(problems).toEqual([]);
});

it("shows a checkbox changed as soon as it was clicked", async () => {
  const { page, problems } = await stage.dashboard.openAs(await stage.dashboard.newAccount());
  await page.route("**/api/v1/orgs", async (route) => {
    if (route.request().method() !== "PATCH") await route.fallback();
  });
  await page.goto("/settings");
  const isChecked = await page
    .getByLabel("Admins can reveal signing secrets")
    .evaluate(async (box: { click(): void; checked?: boolean }) => {
      box.click();
      // Microtasks only: no timer fires meanwhile.
      for (let n = 0; n < 50; n++) await Promise.resolve();
      return box.checked;
    });
  expect(isChecked).toBe(true);
  expect(problems).toEqual([]);
});

it("keeps a dialog with typed text open after a click outside, and closes it with Escape", async () => {
  const { page, problems } = await stage.dashboard.openAs(stage.account);
  await page.goto("/event-types");
  const dialog = page.getByRole("dialog", { name: "New event type" });
  const begin = page.getByRole("button", { name: "New event type" }).first();
  await begin.click();
  await dialog.waitFor();
  await page.mouse.click(5, 5);
  await dialog.waitFor({ state: "detached" });
  await begin.click();
  await dialog.getByLabel("Description").fill("a long text");
  await page.mouse.click(5, 5);
  // After a second click, the effect of the first click is complete.
  await page.mouse.click(5, 500);
  expect(await dialog.getByLabel("Description").inputValue()).toBe("a long text");
  await page.keyboard.press("Escape");
  await dialog.waitFor({ state: "detached" });
  expect(problems).toEqual([]);
});

it("says that a target deleted elsewhere no longer exists, and keeps the typed text", async () => {
  const { service } = stage.dashboard;
  const target = await stage.targetAt("/doomed");
  const { page, problems } = await stage.dashboard.openAs(stage.account);
  await page.goto(`/targets/${target.id}?tab=settings`);
  await page.getByLabel("Description").fill("typed here");
  await service.call("DELETE", `/api/v1/targets/${target.id}`, { key: stage.account.api_key });
  await page.getByText("this no longer exists; another user may have deleted it").waitFor();
  expect(await page.getByLabel("Description").inputValue()).toBe("typed here");
  expect(problems).toEqual([]);
});

it.each([
  {
    of: "a customer",
    open: "/customers/shop-7",
    path: "/api/v1/customers/shop-7",
    made: { name: "Shop 7", metadata: { plan: "gold" } },
    field: "Display name (optional)",
    elsewhere: { name: "Shop 7", metadata: { plan: "silver" } },
    saved: { name: "typed here", metadata: { plan: "silver" } },
  },
  {
    of: "an event type",
    open: "/event-types?type=order.paid",
    path: "/api/v1/event-types/order.paid",
    made: { description: "first", group: "Orders", schema: { type: "object" } },
    field: "Description",
    elsewhere: { description: "first", group: "Sales", deprecated: true, example: { id: 7 } },
    saved: { description: "typed here", group: "Sales", deprecated: true, schema: null, example: { id: 7 } },
  },
])(
  "saves only the fields that were changed in the dialog of $of",
  async ({ open, path, made, field, elsewhere, saved }) => {
    const { service } = stage.dashboard;
    const key = stage.account.api_key;
    await service.call("PUT", path, { key, body: made });
    const { page, problems } = await stage.dashboard.openAs(stage.account);
    await page.goto(open);
    await page.getByRole("button", { name: "Edit" }).click();
    const dialog = page.getByRole("dialog");
    await dialog.getByLabel(field).fill("typed here");
    await service.call("PUT", path, { key, body: elsewhere });
    await dialog.getByRole("button", { name: "Save" }).click();
    await page.getByText("Saved.").waitFor();
    expect((await service.call("GET", path, { key })).body).toMatchObject(saved);
    expect(problems).toEqual([]);
  },
);

it("saves only the fields that were changed in the portal's settings", async () => {
  const { service } = stage.dashboard;
  const path = "/api/v1/portal-settings";
  const key = stage.account.api_key;
  const { page, problems } = await stage.dashboard.openAs(stage.account);
  await page.goto("/settings?tab=portal");
  await page.getByLabel("Name").fill("Typed later");
  const elsewhere = { name: null, logo: null, colour: "#123456", origins: ["https://app.example.com"] };
  await service.call("PUT", path, { key, body: elsewhere });
  await page.getByRole("button", { name: "Save" }).click();
  await page.getByText("Saved.").waitFor();
  expect((await service.call("GET", path, { key })).body).toMatchObject({
    ...elsewhere,
    name: "Typed later",
  });
  expect(problems).toEqual([]);
});

it.each([
  { of: "a dialog", open: "/event-types", begin: "New event type", field: "Name", save: "Create event type" },
  {
    of: "a page",
    open: "/targets/new?kind=mailbox",
    field: "Display name (optional)",
    save: "Create target",
  },
])("keeps the text typed in $of while its user signs in again", async ({ open, begin, field, save }) => {
  const { dashboard } = stage;
  const { service } = dashboard;
  const account = await dashboard.newAccount();
  const { page, problems } = await dashboard.openAs(account);
  await page.goto(open);
  if (begin !== undefined) await page.getByRole("button", { name: begin }).first().click();
  await page.getByLabel(field, { exact: true }).fill("typed.here");
  await service.call("POST", "/api/v1/auth/logout-all", { key: account.api_key });
  await page.getByRole("button", { name: save }).click();
  const again = page.getByRole("dialog", { name: "Your session has ended" });
  await again.getByLabel("Password").focus();
  // The dialog stays open, and so does the page behind it.
  await page.keyboard.press("Escape");
  await page.mouse.click(5, 5);
  await again.getByLabel("Password").fill(account.password);
  await page.keyboard.press("Enter");
  await again.waitFor({ state: "detached" });
  expect(await page.getByLabel(field, { exact: true }).inputValue()).toBe("typed.here");
  await page.getByText("Your session had ended. Try again.").waitFor();
  await page.getByRole("button", { name: save }).click();
  await page.getByRole("heading", { name: "typed.here" }).waitFor();
  // The page follows the stream of the new session.
  await page.getByRole("button", { name: /^Live/ }).waitFor();
  expect(problems).toEqual([]);
});

it("leaves a page with typed text when its user does not sign in again", async () => {
  const { dashboard } = stage;
  const account = await dashboard.newAccount();
  const { page, problems } = await dashboard.openAs(account);
  await page.goto("/event-types");
  await page.getByRole("button", { name: "New event type" }).first().click();
  await page.getByLabel("Description").fill("a long text");
  await dashboard.service.call("POST", "/api/v1/auth/logout-all", { key: account.api_key });
  await page.getByRole("button", { name: "Leave this page" }).click();
  await page.getByText("Sign in to continue.").waitFor();
  expect(problems).toEqual([]);
});

it("asks before the form of a new target is left, but not once the target was created", async () => {
  const { page, problems } = await stage.dashboard.openAs(stage.account);
  await page.goto("/targets/new?kind=mailbox");
  const name = page.getByLabel("Display name (optional)");
  await name.fill("typed here");
  await page.getByRole("link", { name: "Customers" }).click();
  await page.getByRole("dialog", { name: "Discard unsaved changes?" }).waitFor();
  await page.getByRole("button", { name: "Keep editing" }).click();
  expect(await name.inputValue()).toBe("typed here");
  await page.getByRole("button", { name: "Create target" }).click();
  await page.getByRole("heading", { name: "typed here" }).waitFor();
  await page.getByRole("link", { name: "Customers" }).click();
  await page.getByRole("heading", { name: "Customers" }).waitFor();
  expect(problems).toEqual([]);
});

it("keeps the invitation link, which is shown once, until the user saved it", async () => {
  const { page, problems } = await stage.dashboard.openAs(stage.account);
  await page.goto("/usage");
  await page.getByRole("link", { name: "Settings" }).click();
  await page.getByRole("link", { name: "Members" }).click();
  await page.getByRole("button", { name: "Invite" }).click();
  const dialog = page.getByRole("dialog", { name: "Invitation link: shown only once" });
  await dialog.waitFor();
  await page.mouse.click(5, 5);
  // After a second click, the effect of the first click is complete.
  await page.mouse.click(5, 500);
  await page.keyboard.press("Escape");
  await page.goBack();
  await page.getByRole("dialog", { name: "Leave without saving this?" }).waitFor();
  await page.getByRole("button", { name: "Stay" }).click();
  await dialog.getByLabel("I saved it").check();
  await dialog.getByRole("button", { name: "Done" }).click();
  await dialog.waitFor({ state: "detached" });
  expect(problems).toEqual([]);
});
