import { expect, it } from "vitest";
import { createWebhookTarget, sendItem } from "../../server/test/support/items.ts";
import { stageOfFile } from "./support/stage.ts";

const stage = stageOfFile();

/** A disabled target of somebody new: what is sent to it stays QUEUED. */
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

it("offers to replay no item that the filter has taken out of sight", async () => {
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
  expect(await page.getByText("replayed already").count()).toBe(0);
  expect(problems).toEqual([]);
});

it("says how many items have come to match a status, and how many no longer do", async () => {
  const { owner, send, cancel } = await newHolder();
  const [older, newer] = [await send("order.older"), await send("order.newer")];
  await cancel(newer);
  const { page, problems } = await stage.dashboard.openAs(owner);
  await page.goto("/items?status=CANCELED");
  await page.getByRole("link", { name: "order.newer" }).waitFor();
  await page.getByRole("button", { name: /^Live/ }).waitFor();
  // It was accepted before the first row.
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
