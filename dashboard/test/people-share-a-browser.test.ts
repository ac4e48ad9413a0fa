import type { Page } from "playwright-core";
import { expect, it } from "vitest";
import { createWebhookTarget } from "../../server/test/support/items.ts";
import type { Account } from "../../server/test/support/testNode.ts";
import { stageOfFile } from "./support/stage.ts";

const stage = stageOfFile();

async function signIn(page: Page, { user, password }: Account, { stays = false } = {}): Promise<void> {
  await page.getByLabel("Email").fill(user.email);
  await page.getByLabel("Password").fill(password);
  if (stays) await page.getByLabel("Stay signed in").check();
  await page.getByRole("button", { name: "Sign in" }).click();
}

const endSessions = ({ api_key: key }: Account) =>
  stage.dashboard.service.call("POST", "/api/v1/auth/logout-all", { key });

it("shows the next user no data that was read for the previous user", async () => {
  const { dashboard, receiver } = stage;
  const [before, next] = [await dashboard.newAccount(), await dashboard.newAccount()];
  await createWebhookTarget(dashboard.service, before, receiver.url, { name: "a secret project" });
  const { page, problems } = await dashboard.openAs(before);
  await page.goto("/targets");
  await page.getByText("a secret project").waitFor();
  await page.getByRole("button", { name: /^Live/ }).waitFor();
  await endSessions(before);
  await page.getByText("Sign in to continue.").waitFor();

  const answered = Promise.withResolvers<void>();
  await page.route("**/api/v1/targets", async (route) => {
    await answered.promise;
    await route.continue();
  });
  await signIn(page, next);
  await page.getByRole("heading", { name: "Targets" }).waitFor();
  expect(await page.getByText("a secret project").count()).toBe(0);
  answered.resolve();
  await page.getByText("No targets yet").waitFor();
  expect(problems).toEqual([]);
});

it("stays signed in when another tab learns late that the previous session has ended", async () => {
  const { dashboard } = stage;
  const account = await dashboard.newAccount();
  const { page, context, problems } = await dashboard.open();
  await page.goto("/sign-in");
  await signIn(page, account, { stays: true });
  await page.getByRole("heading", { name: "Get started" }).waitFor();
  const late = await context.newPage();
  await late.goto("/usage");
  await late.getByRole("button", { name: /^Live/ }).waitFor();
  // The paused tab makes no requests until it resumes.
  await late.keyboard.press("p");
  await late.getByRole("button", { name: /^Paused/ }).waitFor();
  await endSessions(account);
  await page.getByText("Sign in to continue.").waitFor();
  await signIn(page, account, { stays: true });
  await page.getByRole("heading", { name: "Get started" }).waitFor();
  await late.bringToFront();
  await late.keyboard.press("p");
  await late.getByText("Sign in to continue.").waitFor();

  const another = await context.newPage();
  await another.goto("/usage");
  await another.getByText("Accepted this month").waitFor();
  expect(problems).toEqual([]);
});

it("hides one user's API key from the next user, who signs in in another tab", async () => {
  const { dashboard, receiver } = stage;
  const [before, next] = [await dashboard.newAccount(), await dashboard.newAccount()];
  const [first, second] = await Promise.all(
    [before, next].map((account) => createWebhookTarget(dashboard.service, account, receiver.url)),
  );
  const { page, context, problems } = await dashboard.open();
  await page.goto("/sign-in");
  await signIn(page, before, { stays: true });
  await page.getByRole("heading", { name: "Overview" }).waitFor();
  await page.goto(`/start?target=${first!.id}`);
  await page.getByLabel("API key").fill(before.api_key);
  await page.getByRole("button", { name: "Copy the key" }).waitFor();

  const beside = await context.newPage();
  await beside.goto("/sign-in");
  await signIn(beside, next, { stays: true });
  await beside.getByRole("heading", { name: "Overview" }).waitFor();
  await page.goto(`/start?target=${second!.id}`);
  await page.getByLabel("API key").waitFor();
  expect(await page.getByText(before.api_key).count()).toBe(0);
  expect(problems).toEqual([]);
});

it("keeps the session of the next user, who goes back to a page of the previous user", async () => {
  const { dashboard } = stage;
  const [before, next] = [await dashboard.newAccount(), await dashboard.newAccount()];
  const { page, problems } = await dashboard.openAs(before);
  await page.goto("/settings");
  await page.getByText(before.user.email).waitFor();
  const session = JSON.stringify({ token: next.session_token, email: next.user.email });
  // The driver turns off the cache of pages. So the page of the previous user is in front when the next user's session is stored.
  await page.evaluate(`sessionStorage.setItem("postrider.session", ${JSON.stringify(session)})`);
  await endSessions(before);
  await page.getByText(next.user.email).waitFor();
  expect(problems).toEqual([]);
});
