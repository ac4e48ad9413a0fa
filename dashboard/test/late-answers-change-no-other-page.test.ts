import type { Page } from "playwright-core";
import { expect, it } from "vitest";
import { createMailboxTarget } from "../../server/test/support/items.ts";
import { stageOfFile } from "./support/stage.ts";

const stage = stageOfFile();

/** Holds back the answers to requests of this method and path, until the returned function is called. */
async function holdAnswers(page: Page, method: string, path: string): Promise<() => void> {
  const letGo = Promise.withResolvers<void>();
  await page.route(`**${path}`, async (route) => {
    if (route.request().method() !== method) return route.fallback();
    const response = await route.fetch();
    await letGo.promise;
    return route.fulfill({ response });
  });
  return letGo.resolve;
}

it.each([
  {
    of: "a customer",
    open: "/customers",
    begin: "New customer",
    field: "Uid",
    make: "Create customer",
    path: "/api/v1/customers/first",
  },
  {
    of: "an event type",
    open: "/event-types",
    begin: "New event type",
    field: "Name",
    make: "Create event type",
    path: "/api/v1/event-types/first",
  },
])(
  "keeps the dialog of $of that was opened while another one was being created",
  async ({ open, begin, field, make, path }) => {
    const owner = await stage.dashboard.newAccount();
    const { page, problems } = await stage.dashboard.openAs(owner);
    await page.goto(open);
    const answer = await holdAnswers(page, "PUT", path);
    const dialog = page.getByRole("dialog", { name: begin });
    await page.getByRole("button", { name: begin }).first().click();
    await dialog.getByLabel(field, { exact: true }).fill("first");
    const asked = page.waitForRequest((request) => request.method() === "PUT");
    await dialog.getByRole("button", { name: make }).click();
    await asked;
    await page.keyboard.press("Escape");
    await dialog.waitFor({ state: "detached" });
    await page.getByRole("button", { name: begin }).first().click();
    await dialog.getByLabel(field, { exact: true }).fill("second");
    answer();
    // The list behind the dialog is read again after the answer.
    await page.locator("main li", { hasText: "first" }).waitFor();
    expect(await dialog.getByLabel(field, { exact: true }).inputValue()).toBe("second");
    expect(page.url()).toMatch(new RegExp(`${open}$`));
    expect(problems).toEqual([]);
  },
);

it("stays on the page to which the user went while a target was being deleted", async () => {
  const owner = await stage.dashboard.newAccount();
  const mailbox = await createMailboxTarget(stage.dashboard.service, owner);
  const { page, problems } = await stage.dashboard.openAs(owner);
  await page.goto(`/mailboxes/${mailbox}?tab=settings`);
  const answer = await holdAnswers(page, "DELETE", `/api/v1/targets/${mailbox}`);
  const name = (await page.getByRole("heading", { level: 1 }).textContent())!;
  await page.getByRole("button", { name: "Delete this target…" }).click();
  await page.getByLabel(`Type ${name} to confirm`).fill(name);
  await page.getByRole("button", { name: "Delete", exact: true }).click();
  await page.keyboard.press("Escape");
  await page.getByRole("dialog").waitFor({ state: "detached" });
  await page.getByRole("link", { name: "Settings" }).first().click();
  const typed = page.getByLabel("Current password");
  await typed.fill("typed here");
  answer();
  await page.getByText(`${name} was deleted.`).waitFor();
  await page.getByRole("heading", { name: "Settings" }).waitFor();
  expect(await typed.inputValue()).toBe("typed here");
  expect(problems).toEqual([]);
});
