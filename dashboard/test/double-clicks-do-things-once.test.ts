import { expect, it } from "vitest";
import { createWebhookTarget, sendItem } from "../../server/test/support/items.ts";
import { until } from "../../server/test/support/until.ts";
import { stageOfFile } from "./support/stage.ts";

const stage = stageOfFile();

it("creates one target, one key and one replay when the button is double-clicked", async () => {
  const { service } = stage.dashboard;
  const owner = await stage.dashboard.newAccount();
  const { api_key: key } = owner;
  const { id: target } = await createWebhookTarget(service, owner, `${stage.receiver.url}/orders`);
  const item = await sendItem(service, owner, target, { event_type: "order.paid" });
  await until(
    async () =>
      (await service.call("GET", `/api/v1/events/${item}`, { key })).body.event.status === "DELIVERED",
  );
  const { page, problems } = await stage.dashboard.openAs(owner);
  const posts: string[] = [];
  page.on("request", (request) => {
    if (request.method() === "POST") posts.push(new URL(request.url()).pathname);
  });

  await page.goto("/targets/new?kind=mailbox");
  await page.getByLabel("Name").first().fill("made once");
  await page.getByRole("button", { name: "Create target" }).dblclick();
  await page.getByText("No waiting messages").waitFor();

  await page.goto(`/items/${item}`);
  await page.getByRole("button", { name: "Replay", exact: true }).click();
  const question = page.getByRole("dialog", { name: "Replay this item?" });
  await question.getByRole("button", { name: "Replay", exact: true }).dblclick();
  await page.getByRole("status").filter({ hasText: "Follow" }).waitFor();

  await page.goto("/settings");
  await page.getByRole("button", { name: "New key" }).dblclick();
  const dialog = page.getByRole("dialog");
  await dialog.getByLabel("Name").fill("made once");
  await dialog.getByRole("button", { name: "Create key" }).dblclick();
  // The second click does not hit the element that replaced the button.
  await dialog.getByText("It cannot be shown again.", { exact: false }).waitFor();

  expect(posts).toEqual(["/api/v1/targets", `/api/v1/events/${item}/replay`, "/api/v1/keys"]);
  expect(problems).toEqual([]);
});

it("closes the suggestions once a filter is chosen, so that the first rows can be clicked", async () => {
  const { service } = stage.dashboard;
  const owner = await stage.dashboard.newAccount();
  const { id: target } = await createWebhookTarget(service, owner, `${stage.receiver.url}/orders`);
  await sendItem(service, owner, target, { event_type: "order.paid" });
  const { page, problems } = await stage.dashboard.openAs(owner);
  await page.goto("/items");
  const filter = page.getByRole("combobox", { name: "Filter items" });
  await filter.fill("type:order.paid");
  await filter.press("Enter");
  await page.getByRole("button", { name: "Remove type: order.paid" }).waitFor();
  await page.getByRole("link", { name: "order.paid" }).click();
  await page.getByRole("dialog").getByRole("heading", { name: "order.paid" }).waitFor();
  expect(problems).toEqual([]);
});
