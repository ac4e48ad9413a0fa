import type { Locator, Page } from "playwright-core";
import { expect, it } from "vitest";
import { until } from "../../server/test/support/until.ts";
import { stageOfFile } from "./support/stage.ts";

const stage = stageOfFile();

/** Holds back the answers to POST requests of this path, until the returned function is called. */
async function holdAnswers(page: Page, path: string): Promise<() => void> {
  const letGo = Promise.withResolvers<void>();
  await page.route(`**${path}`, async (route) => {
    if (route.request().method() !== "POST") return route.fallback();
    const response = await route.fetch();
    await letGo.promise;
    return route.fulfill({ response });
  });
  return letGo.resolve;
}

/** Goes back, is asked, and stays. */
async function goBackAndStay(page: Page, question: string): Promise<void> {
  await page.goBack();
  const dialog = page.getByRole("dialog", { name: question });
  await dialog.getByRole("button", { name: "Stay" }).click();
  await dialog.waitFor({ state: "detached" });
}

/** Tries to close a dialog with Escape, its buttons, and a click outside. */
async function tryToClose(page: Page, dialog: Locator): Promise<void> {
  await page.keyboard.press("Escape");
  await page.mouse.click(5, 5);
  // The button is marked as disabled meanwhile, so the driver would not click it.
  await dialog.getByRole("button", { name: "Cancel" }).dispatchEvent("click");
}

/** Asks for a new API key on a page that can be left by going back, and holds the answer until `answer` is called. */
async function askForKey() {
  const { page, problems } = await stage.dashboard.openAs(stage.account);
  await page.goto("/usage");
  await page.getByRole("link", { name: "Settings" }).click();
  const answer = await holdAnswers(page, "/api/v1/keys");
  await page.getByRole("button", { name: "New key" }).click();
  const dialog = page.getByRole("dialog", { name: "New API key" });
  await dialog.getByLabel("Name").fill("awaited");
  const asked = page.waitForRequest("**/api/v1/keys");
  await dialog.getByRole("button", { name: "Create key" }).click();
  await asked;
  return { page, problems, dialog, answer };
}

it("shows a new API key although the user tried to close the dialog before the answer", async () => {
  const { page, problems, dialog, answer } = await askForKey();
  await tryToClose(page, dialog);
  await goBackAndStay(page, "Leave before the key is shown?");
  answer();
  await page.locator("code", { hasText: /^ak_live_[0-9a-f]{64}$/ }).waitFor();
  expect(page.url()).toMatch(/\/settings$/);
  expect(problems).toEqual([]);
});

it("shows a key whose answer arrives while the user is asked whether to leave", async () => {
  const { page, problems, answer } = await askForKey();
  await page.goBack();
  await page.getByRole("dialog", { name: "Leave before the key is shown?" }).waitFor();
  answer();
  await page.locator("code", { hasText: /^ak_live_[0-9a-f]{64}$/ }).waitFor();
  await until(() => page.url().endsWith("/settings"));
  expect(problems).toEqual([]);
});

it("tells of a key whose answer was lost, and lists it", async () => {
  const { page, problems } = await stage.dashboard.openAs(stage.account);
  await page.goto("/settings");
  await page.route("**/api/v1/keys", async (route) => {
    if (route.request().method() !== "POST") return route.fallback();
    await route.fetch();
    return route.abort();
  });
  await page.getByRole("button", { name: "New key" }).click();
  const dialog = page.getByRole("dialog", { name: "New API key" });
  await dialog.getByLabel("Name").fill("unseen");
  await dialog.getByRole("button", { name: "Create key" }).click();
  await dialog.getByText("it cannot be shown any more", { exact: false }).waitFor();
  await dialog.getByRole("button", { name: "Cancel" }).click();
  await page.getByRole("button", { name: "Revoke unseen" }).waitFor();
  expect(problems).toEqual([]);
});

it("shows a rotated secret although the user tried to leave before the answer", async () => {
  await stage.targetAt("/rotated", { name: "rotated" });
  const { page, problems } = await stage.dashboard.openAs(stage.account);
  await page.goto("/targets");
  await page.getByRole("link", { name: "rotated" }).click();
  await page.getByRole("link", { name: "Secret" }).click();
  const answer = await holdAnswers(page, "/signing-secret/rotate");
  await page.getByRole("button", { name: "Create a new secret…" }).click();
  const dialog = page.getByRole("dialog", { name: "Create a new secret?" });
  await dialog.getByRole("button", { name: "Rotate" }).click();
  await tryToClose(page, dialog);
  await goBackAndStay(page, "Leave before the secret is shown?");
  answer();
  await page.locator("code", { hasText: /^whsec_/ }).waitFor();
  expect(problems).toEqual([]);
});

it("shows an invitation link although the user tried to leave before the answer", async () => {
  const { page, problems } = await stage.dashboard.openAs(stage.account);
  await page.goto("/usage");
  await page.getByRole("link", { name: "Settings" }).click();
  await page.getByRole("link", { name: "Members" }).click();
  const answer = await holdAnswers(page, "/api/v1/invitations");
  await page.getByRole("button", { name: "Invite" }).click();
  await goBackAndStay(page, "Leave before the link is shown?");
  answer();
  await page.getByRole("dialog", { name: "Invitation link: shown only once" }).locator("code").waitFor();
  expect(problems).toEqual([]);
});

it("asks before the page of a target that is being created is left, and leads nowhere afterwards", async () => {
  const { page, problems } = await stage.dashboard.openAs(stage.account);
  await page.goto("/targets/new");
  const answer = await holdAnswers(page, "/api/v1/targets");
  await page.getByRole("button", { name: "Create target" }).click();
  await page.getByRole("link", { name: "Customers" }).click();
  const dialog = page.getByRole("dialog", { name: "Leave before the target is created?" });
  await dialog.getByRole("button", { name: "Stay" }).click();
  answer();
  await page.locator("code", { hasText: /^whsec_/ }).waitFor();
  expect(problems).toEqual([]);
});

it("shows the secret of a customer's new endpoint although the customer tried to close the dialog", async () => {
  const { service } = stage.dashboard;
  const key = stage.account.api_key;
  await service.call("PUT", "/api/v1/customers/shop-7", { key, body: {} });
  const { body } = await service.call("POST", "/api/v1/customers/shop-7/portal-links", { key });
  const { page, problems } = await stage.dashboard.open();
  await page.goto(new URL(body.url).pathname + new URL(body.url).hash);
  const answer = await holdAnswers(page, "/api/v1/targets");
  await page.getByRole("button", { name: "New endpoint" }).click();
  const dialog = page.getByRole("dialog", { name: "New endpoint" });
  await dialog.getByLabel("URL").fill(`${stage.receiver.url}/mine`);
  await dialog.getByRole("button", { name: "Create endpoint" }).click();
  await tryToClose(page, dialog);
  await dialog.getByRole("heading", { name: "New endpoint" }).waitFor();
  answer();
  await page.locator("code", { hasText: /^whsec_/ }).waitFor();
  expect(problems).toEqual([]);
});
