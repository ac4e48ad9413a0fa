import { afterAll, beforeAll, expect, it } from "vitest";
import { createWebhookTarget, sendItem } from "../../server/test/support/items.ts";
import { newEmail } from "../../server/test/support/testNode.ts";
import { visit } from "./support/browser.ts";
import { type Dashboard, startDashboard } from "./support/dashboard.ts";

let dashboard: Dashboard;

beforeAll(async () => {
  dashboard = await startDashboard();
});

afterAll(() => dashboard.stop());

it("invites a viewer, who reads everything and is offered no change, until the role is raised", async () => {
  const admin = await dashboard.newAccount();
  const target = await createWebhookTarget(dashboard.service, admin, "http://127.0.0.1:9/", { name: "seen" });
  const item = await sendItem(dashboard.service, admin, target.id, { event_type: "seen.too" });
  const first = await dashboard.openAs(admin);
  const email = newEmail();
  await first.page.goto("/settings?tab=members");
  await first.page.getByLabel("Email").fill(email);
  await first.page.getByLabel("As", { exact: true }).selectOption("viewer");
  await first.page.getByRole("button", { name: "Invite" }).click();
  const link = (await first.page.getByLabel("invitation link", { exact: true }).textContent())!;
  await first.page.getByRole("button", { name: "Done" }).click();
  await first.page.getByText(email).waitFor();

  const { page, problems } = await dashboard.open();
  await page.goto(new URL(link).pathname + new URL(link).hash);
  await page.getByRole("heading", { name: "Join an organization" }).waitFor();
  // The token is in no history.
  expect(page.url()).not.toContain("inv_");
  await page.getByLabel("Email").fill(email);
  await page.getByLabel("Password").fill("correct horse battery");
  await page.getByRole("button", { name: "Join" }).click();
  await page.getByRole("heading", { name: "Overview" }).waitFor();
  const changing =
    /^(Replay|Cancel|Erase|Save|Pause|Enable|Send a test|New|Revoke|Remove|Invite|Tell it|Rename|Make|Delete|Redrive)/;
  for (const [path, shown] of [
    [`/items/${item}`, "seen.too"],
    [`/targets/${target.id}`, "Latest items"],
    [`/targets/${target.id}?tab=settings`, "Under way at a time"],
    [`/targets/${target.id}?tab=secret`, "Verify deliveries"],
    ["/targets", "seen"],
    ["/mailboxes", "No mailboxes yet"],
    ["/settings", "API keys"],
    ["/settings?tab=members", "(you)"],
    ["/settings?tab=notifications", "hear of what somebody should look at"],
    ["/settings?tab=erasures", "Payloads, answers"],
  ] as const) {
    await visit(page, path);
    await page.getByRole("main").getByText(shown).first().waitFor();
    const main = page.getByRole("main");
    const offered = await main
      .getByRole("button", { name: changing })
      .or(main.getByRole("link", { name: /^New / }))
      .allTextContents();
    expect([path, offered]).toEqual([path, []]);
  }
  await visit(page, "/settings?tab=audit");
  await page.getByText("Your role does not allow this").waitFor();

  await visit(first.page, "/settings");
  await visit(first.page, "/settings?tab=members");
  await first.page.getByLabel(`Role of ${email}`).selectOption("member");
  await first.page.getByText(`${email} is Member now.`).waitFor();
  await page.goto(`/targets/${target.id}`);
  await page.getByRole("button", { name: "Pause", exact: true }).waitFor();

  await visit(first.page, "/settings?tab=audit");
  await first.page.getByText("member.role_changed").filter({ visible: true }).first().waitFor();
  await visit(first.page, "/settings?tab=members");
  await first.page.getByRole("button", { name: `Remove ${email}` }).click();
  await first.page.getByLabel(`Type ${email} to go on`).fill(email);
  await first.page.getByRole("button", { name: "Remove", exact: true }).click();
  await first.page.getByText(`${email} was removed.`).waitFor();
  // The removed member's stream ends, and with it the page.
  await page.getByRole("button", { name: "Sign in" }).waitFor();
  expect(problems).toEqual([]);
  expect(first.problems).toEqual([]);
});
