import { expect, it } from "vitest";
import { createWebhookTarget, sendItem } from "../../server/test/support/items.ts";
import { stageOfFile } from "./support/stage.ts";

const stage = stageOfFile();

it("finds targets and customers in the palette by their names", async () => {
  const own = await stage.dashboard.newAccount();
  const { service } = stage.dashboard;
  await service.call("PUT", "/api/v1/customers/acme:7", { key: own.api_key, body: { name: "Acme GmbH" } });
  await createWebhookTarget(service, own, `${stage.receiver.url}/found`, { name: "warehouse" });
  const { page, problems } = await stage.dashboard.openAs(own);
  await page.goto("/");
  await page.getByRole("heading", { name: "Overview" }).waitFor();
  await page.keyboard.press("Control+k");
  const input = page.getByRole("combobox");
  await input.fill("ware");
  await page.getByRole("option", { name: "warehouse (webhook)" }).waitFor();
  await page.keyboard.press("Enter");
  await page.getByRole("heading", { name: "warehouse" }).waitFor();
  await page.keyboard.press("Control+k");
  await input.fill("acme");
  await page.getByRole("option", { name: "Acme GmbH, acme:7 (customer)" }).click();
  await page.getByRole("heading", { name: "Acme GmbH" }).waitFor();
  await page.keyboard.press("Control+k");
  await input.fill("nothing is called so");
  await page.getByText("No page, target or customer has this name.").waitFor();
  expect(problems).toEqual([]);
});

it("lists the items of one customer and of a custom time range, with relative times", async () => {
  const own = await stage.dashboard.newAccount();
  const { service } = stage.dashboard;
  await service.call("PUT", "/api/v1/customers/acme", { key: own.api_key, body: {} });
  const ofAcme = await createWebhookTarget(service, own, `${stage.receiver.url}/acme`, {
    customer_uid: "acme",
  });
  const other = await createWebhookTarget(service, own, `${stage.receiver.url}/other`);
  await sendItem(service, own, ofAcme.id, { event_type: "of.acme" });
  await sendItem(service, own, other.id, { event_type: "of.nobody" });
  const { page, problems } = await stage.dashboard.openAs(own);
  await page.goto("/customers/acme");
  await page.getByRole("main").getByRole("link", { name: "Items" }).click();
  await page.getByRole("link", { name: "of.acme" }).waitFor();
  expect(await page.getByText("of.nobody").count()).toBe(0);
  await page
    .getByText(/^(now|\d+ (s|min) ago)$/)
    .first()
    .waitFor();
  await page.getByRole("button", { name: "Remove customer: acme" }).click();
  await page.getByRole("link", { name: "of.nobody" }).waitFor();

  const filter = page.getByLabel("Filter items");
  await filter.fill("time:bet");
  await page.keyboard.press("Enter");
  const dialog = page.getByRole("dialog", { name: "Accepted between" });
  await dialog.getByLabel("From").fill("2020-01-02T00:00");
  await dialog.getByLabel("To").fill("2020-01-01T00:00");
  await dialog.getByText("Must be later than the beginning").waitFor();
  await dialog.getByLabel("To").fill("2020-01-03T00:00");
  await dialog.getByRole("button", { name: "Filter" }).click();
  await page.getByText("No item matches").waitFor();
  expect(new URL(page.url()).searchParams.get("time")).toMatch(/^15779\d+-15780\d+$/);
  expect(problems).toEqual([]);
});

it("leads back from an event type to the list as it was filtered", async () => {
  const own = await stage.dashboard.newAccount();
  for (const name of ["order.paid", "order.sent", "user.left"])
    await stage.dashboard.service.call("PUT", `/api/v1/event-types/${name}`, { key: own.api_key, body: {} });
  const { page, problems } = await stage.dashboard.openAs(own);
  await page.goto("/event-types?deprecated=false");
  await page.getByLabel("Find event types").fill("order.");
  const listed = page.getByRole("main").getByRole("listitem");
  await expect.poll(() => listed.count()).toBe(2);
  await page.getByRole("link", { name: "order.paid" }).click();
  await page.getByRole("link", { name: "All event types" }).click();
  await expect.poll(() => listed.count()).toBe(2);
  await page.getByRole("link", { name: "order.paid" }).click();
  await page.getByRole("button", { name: "Delete this event type…" }).click();
  await page.getByRole("button", { name: "Delete", exact: true }).click();
  await expect.poll(() => listed.allTextContents()).toEqual(["order.sent"]);
  expect(problems).toEqual([]);
});

it("shows the signed-in user in the account menu, and signs out there", async () => {
  const own = await stage.dashboard.newAccount();
  const { page, problems } = await stage.dashboard.openAs(own);
  await page.goto("/");
  await page.getByRole("button", { name: "Account" }).click();
  await page.getByText(own.user.email, { exact: true }).waitFor();
  await page.getByText(/^Admin · /).waitFor();
  await page.keyboard.press("Escape");
  // A page that does not exist has the frame of the others.
  await page.goto("/no/such/page");
  await page.getByRole("heading", { name: "There is no page at this address" }).waitFor();
  await page.getByRole("navigation", { name: "Pages" }).getByRole("link", { name: "Items" }).waitFor();
  await page.getByRole("button", { name: "Account" }).click();
  await page.getByRole("menuitem", { name: "Settings" }).click();
  await page.getByRole("heading", { name: "Settings" }).waitFor();
  await page.getByRole("button", { name: "Account" }).click();
  await page.getByRole("menuitem", { name: "Sign out" }).click();
  await page.getByRole("heading", { name: "Sign in" }).waitFor();
  const { status } = await stage.dashboard.service.call("GET", "/api/v1/auth/me", {
    session: own.session_token,
  });
  expect(status).toBe(401);
  expect(problems).toEqual([]);
});
