import { afterAll, beforeAll, expect, it } from "vitest";
import { createWebhookTarget, sendItem } from "../../server/test/support/items.ts";
import { isSignedWith, type Receiver, startReceiver } from "../../server/test/support/receiver.ts";
import type { Account } from "../../server/test/support/testNode.ts";
import { type Dashboard, startDashboard } from "./support/dashboard.ts";

let dashboard: Dashboard;
let receiver: Receiver;
let account: Account;

beforeAll(async () => {
  [dashboard, receiver] = await Promise.all([
    startDashboard(),
    startReceiver(({ path }, response) => {
      if (path === "/broken") response.writeHead(503).end("no healthy upstream");
      else response.end("ok");
    }),
  ]);
  account = await dashboard.newAccount();
});

afterAll(async () => {
  await dashboard.stop();
  await receiver.stop();
});

it("finds a failing target, explains it, fixes it and replays what failed", async () => {
  const target = await createWebhookTarget(dashboard.service, account, `${receiver.url}/broken`, {
    name: "warehouse",
    max_retries: 0,
  });
  const id = await sendItem(dashboard.service, account, target.id, { event_type: "stock.changed", n: 1 });
  const { page, problems } = await dashboard.openAs(account);
  await page.goto("/items?status=FAILED");
  await page.getByRole("link", { name: "stock.changed" }).click();
  await page.getByText("Failed for good at the first attempt, after 503.", { exact: false }).waitFor();
  await page.getByText("no healthy upstream").waitFor();
  expect(page.url()).toContain(`open=${id}`);
  await page.getByRole("dialog").getByRole("link", { name: "warehouse" }).click();
  await page.getByRole("heading", { name: "warehouse" }).waitFor();
  await page.getByLabel("Sections").getByRole("link", { name: "Settings" }).click();
  await page.getByLabel("URL", { exact: true }).fill(`${receiver.url}/mended`);
  await page.getByRole("button", { name: "Save" }).click();
  await page.getByText("Saved.").waitFor();
  await page.goto(`/items/${id}`);
  await page.getByRole("button", { name: "Replay" }).click();
  await page.getByRole("button", { name: "Follow" }).click();
  await page.getByText("Delivered at the first attempt").waitFor();
  await page.getByText("Replay of").waitFor();
  expect(problems).toEqual([]);
});

it("rotates a secret without losing a delivery", async () => {
  const target = await createWebhookTarget(dashboard.service, account, `${receiver.url}/rotated`, {
    name: "rotated",
  });
  const secrets = [target.secret];
  const sent: string[] = [];
  const send = async (): Promise<void> => {
    sent.push(await sendItem(dashboard.service, account, target.id));
  };
  const { page, problems } = await dashboard.openAs(account);
  await page.goto(`/targets/${target.id}?tab=secret`);
  await send();
  await page.getByRole("button", { name: "Make a new secret" }).click();
  const shown = page.locator("code", { hasText: /^whsec_/ });
  secrets.push((await shown.textContent())!);
  await send();
  await page.getByLabel("I saved it").check();
  await page.getByRole("button", { name: "Go on" }).click();
  await page.getByText("A rotation is in progress").waitFor();
  await receiver.arrivals(2, { path: "/rotated" });
  await page.getByRole("button", { name: "Delete the previous secret…" }).click();
  await page.getByRole("button", { name: "Delete it" }).click();
  await page.getByText("The previous secret no longer signs.").waitFor();
  await send();
  const arrived = await receiver.arrivals(3, { path: "/rotated" });
  expect(new Set(arrived.map((one) => one.id))).toEqual(new Set(sent));
  expect(arrived.every((one) => secrets.some((secret) => isSignedWith(secret, one)))).toBe(true);
  // The last is signed with the new secret alone.
  expect(isSignedWith(secrets[1]!, arrived[2]!)).toBe(true);
  expect(problems).toEqual([]);
});

it("says what is wrong with a URL beside its field", async () => {
  const { page } = await dashboard.openAs(account);
  await page.goto("/targets/new?kind=webhook");
  await page.getByLabel("URL", { exact: true }).fill("https://10.0.0.1/hooks");
  await page.getByRole("button", { name: "Make the target" }).click();
  await page.getByRole("alert").filter({ hasText: "not allowed" }).waitFor();
  expect(await page.getByLabel("URL", { exact: true }).getAttribute("aria-invalid")).toBe("true");
});

it("deletes a target only for someone who types its name", async () => {
  const target = await createWebhookTarget(dashboard.service, account, `${receiver.url}/gone`, {
    name: "short-lived",
  });
  const { page } = await dashboard.openAs(account);
  await page.goto(`/targets/${target.id}?tab=settings`);
  await page.getByRole("button", { name: "Delete this target…" }).click();
  const remove = page.getByRole("button", { name: "Delete", exact: true });
  expect(await remove.isDisabled()).toBe(true);
  await page.getByLabel("Type short-lived to go on").fill("short-lived");
  await remove.click();
  await page.getByText("short-lived was deleted.").waitFor();
  await expect.poll(() => page.getByRole("link", { name: "short-lived" }).count()).toBe(0);
});
