import { expect, it } from "vitest";
import { createWebhookTarget } from "../../server/test/support/items.ts";
import { isSignedWith } from "../../server/test/support/receiver.ts";
import { untilFocused, visit } from "./support/browser.ts";
import { stageOfFile } from "./support/stage.ts";

const stage = stageOfFile();

it("rotates a secret without losing a delivery", async () => {
  const target = await stage.targetAt("/rotated", { name: "rotated" });
  const secrets = [target.secret];
  const sent: string[] = [];
  const send = async (): Promise<void> => {
    sent.push(await stage.organization.send(target.id));
  };
  const { page, problems } = await stage.dashboard.openAs(stage.account);
  await page.goto(`/targets/${target.id}?tab=secret`);
  await send();
  await page.getByRole("button", { name: "Create a new secret…" }).click();
  await page.getByLabel("The current secret expires").selectOption({ label: "In a day" });
  await page.getByRole("button", { name: "Rotate", exact: true }).click();
  const shown = page.locator("code", { hasText: /^whsec_/ });
  secrets.push((await shown.textContent())!);
  await send();
  await page.getByLabel("I saved it").check();
  await page.getByRole("button", { name: "Continue" }).click();
  await page.getByText("A rotation is in progress").waitFor();
  await page.getByText("It ends by itself at").waitFor();
  await stage.receiver.arrivals(2, { path: "/rotated" });
  await page.getByRole("button", { name: "Delete the previous secret…" }).click();
  await page.getByRole("button", { name: "Delete", exact: true }).click();
  await page.getByText("The previous secret no longer signs.").waitFor();
  await send();
  const arrived = await stage.receiver.arrivals(3, { path: "/rotated" });
  expect(new Set(arrived.map((one) => one.id))).toEqual(new Set(sent));
  expect(arrived.every((one) => secrets.some((secret) => isSignedWith(secret, one)))).toBe(true);
  // The last delivery is signed with the new secret alone.
  expect(isSignedWith(secrets[1]!, arrived[2]!)).toBe(true);
  expect(problems).toEqual([]);
});

it("reveals a secret to an admin if the organization allows it, and hides it by itself", async () => {
  const { dashboard, account, receiver } = stage;
  const target = await createWebhookTarget(dashboard.service, account, `${receiver.url}/revealed`);
  const { page, problems } = await dashboard.openAs(account);
  await page.goto(`/targets/${target.id}?tab=secret`);
  await page.getByText("Verify deliveries").waitFor();
  const reveal = page.getByRole("button", { name: "Reveal secret" });
  expect(await reveal.count()).toBe(0);
  await visit(page, "/settings");
  await page.getByRole("checkbox", { name: "Admins can reveal signing secrets" }).click();
  await page.getByText("Admins can reveal signing secrets.").waitFor();
  await page.clock.install();
  await visit(page, `/targets/${target.id}?tab=secret`);
  const shown = page.locator("code", { hasText: /^whsec_/ });
  await reveal.click();
  expect(await shown.textContent()).toBe(target.secret);
  await page.getByRole("button", { name: "Hide secret" }).click();
  await shown.waitFor({ state: "detached" });
  await reveal.click();
  await page.getByRole("button", { name: "Copy", exact: true }).focus();
  await page.clock.fastForward(59_000);
  expect(await shown.count()).toBe(1);
  await page.clock.fastForward(2000);
  await shown.waitFor({ state: "detached" });
  await untilFocused(page, "Reveal secret");
  await reveal.click();
  await shown.waitFor();
  // A user who visits another tab and returns has to reveal the secret again.
  await visit(page, `/targets/${target.id}?tab=health`);
  await page.getByText("When an attempt fails").waitFor();
  await visit(page, `/targets/${target.id}?tab=secret`);
  await reveal.waitFor();
  expect(await page.content()).not.toContain(target.secret);
  await visit(page, "/settings?tab=audit");
  await expect
    .poll(() => page.getByText("target.secret_revealed").filter({ visible: true }).count())
    .toBeGreaterThanOrEqual(3);
  expect(problems).toEqual([]);
});
