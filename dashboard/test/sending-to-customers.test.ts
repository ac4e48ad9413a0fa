import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Page } from "playwright-core";
import { expect, it } from "vitest";
import { createWebhookTarget } from "../../server/test/support/items.ts";
import { isSignedWith } from "../../server/test/support/receiver.ts";
import { visit } from "./support/browser.ts";
import { stageOfFile } from "./support/stage.ts";

const stage = stageOfFile();

it("publishes to three targets of a customer, then replays to the target that failed and to a target added later", async () => {
  const { service } = stage.dashboard;
  const owner = await stage.dashboard.newAccount();
  const { api_key: key } = owner;
  const uid = "shop-3";
  await service.call("PUT", `/api/v1/customers/${uid}`, { key, body: {} });
  const [, , weak] = await Promise.all(
    ["orders", "ledger", "weak"].map((name) =>
      createWebhookTarget(service, owner, `${stage.receiver.url}/${name === "weak" ? "broken" : name}`, {
        name: `${name} of ${uid}`,
        customer_uid: uid,
        max_retries: 0,
      }),
    ),
  );
  const { body } = await service.call("POST", `/p/${uid}`, { key, body: { event_type: "order.paid" } });
  const { page, problems } = await stage.dashboard.openAs(owner);
  await page.goto(`/customers/${uid}`);
  await page.getByRole("main").getByRole("link", { name: "Publications" }).click();
  await page.getByRole("link", { name: /order.paid/ }).waitFor();
  expect(new URL(page.url()).searchParams.get("customer")).toBe(uid);
  await page.keyboard.press("j");
  await page.keyboard.press("Enter");
  await page.getByText("3 items: 2 delivered, 1 failed.").waitFor();
  expect(page.url()).toContain(`/publications/${body.id}`);
  await page.getByRole("link", { name: "Failed 1" }).click();
  await expect.poll(() => page.locator("main li").count()).toBe(1);
  await page.getByRole("link", { name: `weak of ${uid}` }).waitFor();
  // Neighbouring columns do not read as one.
  const [next, replayed] = (await page.evaluate(`["Next attempt", "Replayed"].map((name) => {
    const range = document.createRange();
    range.selectNodeContents([...document.querySelectorAll("main span")].find((one) => one.textContent === name));
    return range.getBoundingClientRect().toJSON();
  })`)) as { left: number; right: number }[];
  expect(replayed!.left - next!.right).toBeGreaterThan(48);
  await service.call("PATCH", `/api/v1/targets/${weak!.id}`, {
    key,
    body: { url: `${stage.receiver.url}/mended` },
  });
  await createWebhookTarget(service, owner, `${stage.receiver.url}/late`, {
    name: `added to ${uid}`,
    customer_uid: uid,
  });
  await page.getByRole("button", { name: "Replay to failed targets…" }).click();
  await page.getByText("1 item failed or is dead.", { exact: false }).waitFor();
  await page.getByRole("button", { name: "Replay 1 item" }).click();
  await page.getByRole("status").filter({ hasText: "Sent to 1 target." }).waitFor();
  await page.getByText("3 items: 3 delivered.").waitFor();
  await page.getByText("No items with this status").waitFor();
  expect(await page.getByRole("button", { name: "Replay to failed targets…" }).isDisabled()).toBe(true);
  await page.getByRole("button", { name: "Send to targets added since…" }).click();
  await page.getByText("Each gets a new item, which is billed", { exact: false }).waitFor();
  await page.getByRole("button", { name: "Send", exact: true }).click();
  await page.getByText("4 items: 4 delivered.").waitFor();
  await page.getByRole("link", { name: "Show all items" }).click();
  await page.getByRole("link", { name: `added to ${uid}` }).waitFor();
  // The item's page links back to the publication.
  await page.getByRole("link", { name: `weak of ${uid}` }).click();
  await page.getByText("Failed permanently").waitFor();
  await page.locator(`a[href="/publications/${body.id}"]`).click();
  await page.getByText("4 items: 4 delivered.").waitFor();
  expect(problems).toEqual([]);
});

it("creates a customer with a target whose secret the receiver has, and deletes both after the uid is typed", async () => {
  const secret = `whsec_${Buffer.from("the receiver knows this secret..").toString("base64")}`;
  const { page, problems } = await stage.dashboard.openAs(stage.account);
  await page.goto("/customers");
  await page.getByText("No customers yet").waitFor();
  await page.getByRole("button", { name: "New customer" }).first().click();
  const make = page.getByRole("button", { name: "Create customer" });
  const uid = page.getByLabel("Uid", { exact: true });
  await uid.fill("shop 7");
  await page.getByRole("alert").filter({ hasText: "1 to 128 characters" }).waitFor();
  await uid.fill("shop:7");
  await page.getByLabel("Metadata").fill('{"plan": ');
  await page.getByRole("alert").filter({ hasText: "Invalid JSON" }).waitFor();
  expect(await make.isDisabled()).toBe(true);
  await page.getByLabel("Metadata").fill('{"plan": "gold"}');
  await page.getByLabel("Display name").fill("Shop GmbH");
  await make.click();
  await page.getByRole("heading", { name: "Shop GmbH" }).waitFor();
  await page.getByText('"plan": "gold"').waitFor();
  // Creating the customer again would overwrite the existing one.
  await page.goto("/customers?prefix=shop");
  await page.getByRole("button", { name: "New customer" }).click();
  await uid.fill("shop:7");
  await make.click();
  await page.getByText("A customer with this uid exists already").waitFor();
  await page.getByRole("link", { name: "Open it" }).click();
  await page.getByRole("heading", { name: "Shop GmbH" }).waitFor();
  await page.getByRole("link", { name: "New target" }).click();
  await page.getByText("Your URL").click();
  await page.getByLabel("URL", { exact: true }).fill(`${stage.receiver.url}/shop`);
  expect(await page.getByLabel("Customer", { exact: true }).inputValue()).toBe("shop:7");
  await uid.fill("shop-7-orders");
  await page.getByLabel("Signing secret").fill(secret);
  await page.getByRole("button", { name: "Create target" }).click();
  await page.getByText("Latest items").waitFor();
  await page.getByText("shop-7-orders").waitFor();
  const { body } = await stage.dashboard.service.call("GET", "/api/v1/targets?uid=shop-7-orders", {
    key: stage.account.api_key,
  });
  const id = await stage.organization.send(body.targets[0].id);
  const [arrived] = await stage.receiver.arrivals(1, { path: "/shop" });
  expect(arrived).toMatchObject({ id });
  expect(isSignedWith(secret, arrived!)).toBe(true);
  await page.getByRole("link", { name: "shop:7" }).click();
  await page.getByText("shop-7-orders").waitFor();
  const proposed = page.locator('datalist option[value="shop:7"]');
  await visit(page, "/publications");
  await proposed.waitFor({ state: "attached" });
  await page.goBack();
  await page.getByRole("button", { name: "Delete this customer…" }).click();
  await page.getByText("1 target is deleted with it.").waitFor();
  await page.getByLabel("Type shop:7 to confirm").fill("shop:7");
  await page.getByRole("button", { name: "Delete", exact: true }).click();
  await page.getByText("shop:7 was deleted, with 1 target.").waitFor();
  await page.getByText("No customers yet").waitFor();
  await visit(page, "/publications");
  await proposed.waitFor({ state: "detached" });
  expect(problems).toEqual([]);
});

it("deletes a customer also while live changes refresh the count of its targets", async () => {
  const { service } = stage.dashboard;
  const owner = await stage.dashboard.newAccount();
  const key = owner.api_key;
  await service.call("PUT", "/api/v1/customers/busy", { key, body: {} });
  const target = await createWebhookTarget(service, owner, stage.receiver.url, { customer_uid: "busy" });
  const { page, problems } = await stage.dashboard.openAs(owner);
  await page.goto("/customers/busy");
  await page.getByRole("button", { name: "Live" }).waitFor();
  await page.getByRole("button", { name: "Delete this customer…" }).click();
  await page.getByText("1 target is deleted with it.").waitFor();
  await page.getByLabel("Type busy to confirm").fill("busy");
  const letGo = Promise.withResolvers<void>();
  await page.route(isCount, async (route) => {
    await letGo.promise;
    await route.fallback();
  });
  const refreshed = page.waitForRequest((request) => isCount(new URL(request.url())));
  await service.call("PATCH", `/api/v1/targets/${target.id}`, { key, body: { name: "changed" } });
  await refreshed;
  await page.getByRole("button", { name: "Delete", exact: true }).click();
  await page.getByText("busy was deleted, with 1 target.").waitFor();
  letGo.resolve();
  await page.getByText("No customers yet").waitFor();
  expect(problems).toEqual([]);
});

/** Whether the request counts the targets of a customer, for the dialog that deletes it. */
function isCount({ pathname, searchParams }: URL): boolean {
  return pathname === "/api/v1/targets" && searchParams.get("limit") === "1000";
}

it("shows a portal link only on the page of its own customer", async () => {
  const { dashboard } = stage;
  const own = await dashboard.newAccount();
  for (const uid of ["shop-1", "shop-2"])
    await dashboard.service.call("PUT", `/api/v1/customers/${uid}`, {
      key: own.api_key,
      body: { name: uid },
    });
  const { page, problems } = await dashboard.openAs(own);
  await page.goto("/customers/shop-1");
  await page.getByRole("heading", { name: "shop-1" }).waitFor();
  await visit(page, "/customers/shop-2");
  await page.getByRole("heading", { name: "shop-2" }).waitFor();
  await page.getByRole("button", { name: "Create link" }).click();
  const link = page.getByText("/portal/", { exact: false });
  await link.waitFor();
  await page.goBack();
  await page.getByRole("heading", { name: "shop-1" }).waitFor();
  expect(await link.count()).toBe(0);
  expect(problems).toEqual([]);
});

it("describes event types, imports a document after a preview, and suggests the types for a target", async () => {
  const own = await stage.dashboard.newAccount();
  const target = await createWebhookTarget(stage.dashboard.service, own, `${stage.receiver.url}/typed`);
  const { page, problems } = await stage.dashboard.openAs(own);
  await page.goto("/event-types");
  await page.getByText("No event types yet").waitFor();
  await page.getByRole("button", { name: "New event type" }).first().click();
  const make = page.getByRole("button", { name: "Create event type" });
  const name = page.getByLabel("Name", { exact: true });
  await name.fill("order.*");
  await page.getByRole("alert").filter({ hasText: "printable ASCII" }).waitFor();
  expect(await make.isDisabled()).toBe(true);
  await name.fill("order.paid");
  const schema = page.getByLabel("Schema");
  await schema.fill('{"type": ');
  await page.getByRole("alert").filter({ hasText: "Invalid JSON" }).waitFor();
  await schema.fill('{"type": "text"}');
  await make.click();
  await page.getByRole("alert").filter({ hasText: "Schema.type must be" }).waitFor();
  await schema.fill('{"type": "object"}');
  await page.getByLabel("Group").fill("Orders");
  await make.click();
  await page.getByRole("heading", { name: "order.paid" }).waitFor();
  await page.getByText('"type": "object"').waitFor();
  await page.getByRole("button", { name: "Edit…" }).click();
  await page.getByLabel("Deprecated", { exact: true }).check();
  await page.getByRole("button", { name: "Save" }).click();
  await page.getByText("Deprecated", { exact: true }).waitFor();

  await page.getByRole("link", { name: "All event types" }).click();
  await page.getByRole("button", { name: "Import…" }).click();
  await chooseLostFile(page);
  await page.getByText("lost.json cannot be read.", { exact: false }).waitFor();
  const webhooks = { "order.sent": { post: { summary: "Left the house" } }, "order.*": {} };
  await page.getByLabel("The document").fill(JSON.stringify({ openapi: "3.1.0", webhooks }));
  await page.getByRole("button", { name: "Preview" }).click();
  await page.getByText("Refused: 1").waitFor();
  await page.getByRole("button", { name: "Import 1" }).click();
  await page.getByText("1 created, 0 updated.").waitFor();
  await page.getByText("Left the house").waitFor();

  await page.goto(`/targets/${target.id}?tab=settings`);
  await page.locator('datalist option[value="order.sent"]').waitFor({ state: "attached" });
  const types = page.getByLabel("Event types");
  await types.fill("order.sent, order.p");
  await page.locator('datalist option[value="order.sent, order.paid"]').waitFor({ state: "attached" });
  await types.fill("order.none");
  await page.getByRole("button", { name: "Save" }).click();
  await page.getByText("order.none is not a type of the catalogue").first().waitFor();
  await types.fill("order.sent");
  await page.getByRole("button", { name: "Save" }).click();
  await page.getByText("Saved.").waitFor();

  await visit(page, "/event-types?type=order.sent");
  await page.getByRole("button", { name: "Delete this event type…" }).click();
  await page.getByRole("button", { name: "Delete", exact: true }).click();
  await page.getByText("order.sent was deleted. 1 target still lists it.").waitFor();
  await visit(page, `/targets/${target.id}?tab=settings`);
  await types.waitFor();
  await page.locator('datalist option[value="order.sent"]').waitFor({ state: "detached" });
  expect(problems).toEqual([]);
});

/** Chooses a file that is deleted before the page reads it. */
async function chooseLostFile(page: Page): Promise<void> {
  const folder = await mkdtemp(join(tmpdir(), "postrider-lost-"));
  const path = join(folder, "lost.json");
  await writeFile(path, "{}");
  await page.evaluate(
    `document.addEventListener("change", (event) => event.stopImmediatePropagation(), { capture: true, once: true })`,
  );
  const input = page.locator("input[type=file]");
  await input.setInputFiles(path);
  await rm(folder, { recursive: true });
  await input.dispatchEvent("change");
}
