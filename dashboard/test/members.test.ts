import { afterAll, beforeAll, expect, it } from "vitest";
import { createWebhookTarget, sendItem } from "../../server/test/support/items.ts";
import { join } from "../../server/test/support/members.ts";
import { newEmail } from "../../server/test/support/testNode.ts";
import { tabTo, untilFocused, visit } from "./support/browser.ts";
import { type Dashboard, startDashboard } from "./support/dashboard.ts";

let dashboard: Dashboard;

beforeAll(async () => {
  // The service is below a proxy's path, which every address, link and request of the page must contain.
  dashboard = await startDashboard({ POSTRIDER_PUBLIC_URL: "https://example.com/hooks" });
});

afterAll(() => dashboard.stop());

it("invites a viewer, who can read everything but is offered no actions until the role is raised", async () => {
  const admin = await dashboard.newAccount();
  const target = await createWebhookTarget(dashboard.service, admin, "http://127.0.0.1:9/", { name: "seen" });
  const item = await sendItem(dashboard.service, admin, target.id, { event_type: "seen.too" });
  await dashboard.service.call("PUT", "/api/v1/customers/shop-7", {
    key: admin.api_key,
    body: { name: "Shop GmbH" },
  });
  await dashboard.service.call("PUT", "/api/v1/event-types/order.paid", {
    key: admin.api_key,
    body: { description: "Paid in full" },
  });
  await dashboard.service.call("PATCH", "/api/v1/orgs", {
    session: admin.session_token,
    body: { secrets_can_be_revealed: true },
  });
  const publication = await dashboard.service.call("POST", "/p", {
    key: admin.api_key,
    body: { event_type: "published.too" },
  });
  const first = await dashboard.openAs(admin);
  const email = newEmail();
  await first.page.goto("/hooks/settings?tab=members");
  await first.page.getByLabel("Email").fill(email);
  await first.page.getByLabel("Role", { exact: true }).selectOption("viewer");
  await first.page.getByRole("button", { name: "Invite" }).click();
  const link = (await first.page.getByRole("dialog").locator("code").textContent())!;
  await first.page.getByLabel("I saved it").check();
  await first.page.getByRole("button", { name: "Done" }).click();
  await first.page.getByText(email).waitFor();
  await first.page.getByText(/^as Viewer, created/).waitFor();

  const { page, problems } = await dashboard.open();
  await page.goto(new URL(link).pathname + new URL(link).hash);
  await page.getByRole("heading", { name: "Join an organization" }).waitFor();
  // The token is not in the browser's history.
  expect(page.url()).not.toContain("inv_");
  await page.getByLabel("Email").fill(email);
  await page.getByLabel("Password").fill("correct horse battery");
  await page.getByRole("button", { name: "Join" }).click();
  await page.getByRole("heading", { name: "Overview" }).waitFor();
  const changing =
    /^(Replay|Cancel|Erase|Save|Pause|Enable|Send a test|Send to|New|Edit|Revoke|Remove|Invite|Rename|Make|Delete|Import|Redrive|Reveal)/;
  for (const [path, shown] of [
    [`/items/${item}`, "seen.too"],
    [`/targets/${target.id}`, "Latest items"],
    [`/targets/${target.id}?tab=settings`, "Concurrency"],
    [`/targets/${target.id}?tab=secret`, "Verify deliveries"],
    ["/targets", "seen"],
    ["/customers", "Shop GmbH"],
    ["/customers/shop-7", "No targets yet"],
    ["/event-types", "Paid in full"],
    ["/event-types?type=order.paid", "No example was given."],
    ["/publications", "published.too"],
    [`/publications/${publication.body.id}`, "1 item:"],
    ["/mailboxes", "No mailboxes yet"],
    ["/settings", "API keys"],
    ["/settings?tab=members", "(you)"],
    ["/settings?tab=notifications", "when something needs attention"],
    ["/settings?tab=erasures", "Payloads, answers"],
    ["/targets/new", "Your role does not allow this"],
    ["/start", "Your role does not allow this"],
    ["/handoffs", "No handoffs yet"],
    ["/replays", "No replays yet"],
    ["/items", "seen.too"],
  ] as const) {
    await visit(page, `/hooks${path}`);
    await page.getByRole("main").getByText(shown).first().waitFor();
    const main = page.getByRole("main");
    const offered = await main
      .getByRole("button", { name: changing })
      .or(main.getByRole("link", { name: /^New / }))
      .allTextContents();
    expect([path, offered]).toEqual([path, []]);
  }
  await visit(page, `/hooks/targets/${target.id}?tab=settings`);
  await page.getByLabel("Name", { exact: true }).waitFor();
  expect(
    await page.locator("main").locator("input, select, textarea").and(page.locator(":enabled")).count(),
  ).toBe(0);
  await visit(page, "/hooks/settings");
  await page.getByLabel("Name", { exact: true }).and(page.locator(":disabled")).waitFor();
  await visit(page, "/hooks/settings?tab=portal");
  await page.getByLabel("Colour").and(page.locator(":disabled")).waitFor();
  await visit(page, "/hooks/items");
  await page.getByRole("link", { name: "seen.too" }).waitFor();
  // A shortcut that would change something is refused without a request.
  await page.keyboard.press("j");
  await page.keyboard.press("r");
  await page.getByText("Your role does not allow replays").waitFor();
  await page.keyboard.press("Control+k");
  await page.getByLabel("Page, target, customer, or any id").fill("target");
  await page.getByRole("option", { name: "Targets" }).waitFor();
  expect(await page.getByRole("option", { name: "New target" }).count()).toBe(0);
  await page.keyboard.press("Escape");
  await visit(page, "/hooks/settings?tab=audit");
  await page.getByText("Your role does not allow this").waitFor();

  await visit(first.page, "/hooks/settings");
  await visit(first.page, "/hooks/settings?tab=members");
  // By keyboard: roles that the arrow keys pass are not saved.
  await tabTo(first.page, first.page.getByLabel(`Role of ${email}`));
  await first.page.keyboard.press("End");
  await first.page.keyboard.press("ArrowUp");
  await tabTo(first.page, first.page.getByRole("button", { name: `Change the role of ${email} to Member` }));
  await first.page.keyboard.press("Enter");
  await untilFocused(first.page, `Role of ${email}`);
  await first.page.getByText(`${email} now has the role Member.`).waitFor();
  await page.goto(`/hooks/targets/${target.id}`);
  await page.getByRole("button", { name: "Pause", exact: true }).waitFor();
  // A role that is lowered while something is typed.
  await visit(page, `/hooks/targets/${target.id}?tab=settings`);
  await page.getByLabel("Description").fill("typed as a member");
  const { body: found } = await dashboard.service.call("GET", "/api/v1/members", { key: admin.api_key });
  const { id } = found.members.find((one: { email: string }) => one.email === email);
  const session = admin.session_token;
  await dashboard.service.call("PATCH", `/api/v1/members/${id}`, { session, body: { role: "viewer" } });
  await page.getByRole("button", { name: "Save" }).click();
  await page.getByText("Your role does not allow this").waitFor();
  expect(await page.getByText("This route needs").count()).toBe(0);
  await page.getByRole("button", { name: "Save" }).waitFor({ state: "detached" });

  await visit(first.page, "/hooks/settings?tab=audit");
  await first.page.getByText("member.role_changed").filter({ visible: true }).first().waitFor();
  await visit(first.page, "/hooks/settings?tab=members");
  await tabTo(first.page, first.page.getByRole("button", { name: `Remove ${email}` }));
  await first.page.keyboard.press("Enter");
  await tabTo(first.page, first.page.getByLabel(`Type ${email} to confirm`));
  await first.page.keyboard.type(email);
  await first.page.keyboard.press("Enter");
  await first.page.getByText(`${email} was removed.`).waitFor();
  await untilFocused(first.page, `Remove ${admin.user.email}`);
  // The removed member's stream ends, and the page asks for a sign-in.
  await page.getByRole("button", { name: "Sign in" }).waitFor();
  expect(problems).toEqual([]);
  expect(first.problems).toEqual([]);
});

it("keeps a role that is chosen while another one is being saved", async () => {
  const admin = await dashboard.newAccount();
  const { email } = (await join(dashboard.service, admin, "viewer")).user;
  const { page, problems } = await dashboard.openAs(admin);
  await page.goto("/hooks/settings?tab=members");
  const saved = Promise.withResolvers<void>();
  await page.route("**/api/v1/members/*", async (route) => {
    const response = await route.fetch();
    await saved.promise;
    return route.fulfill({ response });
  });
  const role = page.getByLabel(`Role of ${email}`, { exact: true });
  await role.selectOption("member");
  await page.getByRole("button", { name: `Change the role of ${email} to Member` }).click();
  await role.selectOption("admin");
  saved.resolve();
  await page.getByText(`${email} now has the role Member.`).waitFor();
  await page.getByRole("button", { name: `Change the role of ${email} to Admin` }).click();
  await page.getByText(`${email} now has the role Admin.`).waitFor();
  expect(await role.inputValue()).toBe("admin");
  expect(problems).toEqual([]);
});

it("revokes an invitation, whose link then no longer works", async () => {
  const admin = await dashboard.newAccount();
  const { page, problems } = await dashboard.openAs(admin);
  await page.goto("/hooks/settings?tab=members");
  await page.getByRole("button", { name: "Invite" }).click();
  const link = (await page.getByRole("dialog").locator("code").textContent())!;
  await page.getByLabel("I saved it").check();
  await page.getByRole("button", { name: "Done" }).click();
  await page.getByRole("button", { name: "Revoke the invitation of whoever has the link" }).click();
  await page.getByText("The invitation was revoked.").waitFor();
  await page.getByText("revoked", { exact: false }).nth(1).waitFor();
  const stranger = await dashboard.open();
  await stranger.page.goto(new URL(link).pathname + new URL(link).hash);
  await stranger.page.getByLabel("Email").fill(newEmail());
  await stranger.page.getByLabel("Password").fill("correct horse battery");
  await stranger.page.getByRole("button", { name: "Join" }).click();
  await stranger.page.getByText("This invitation is unknown, was used or revoked, or has expired.").waitFor();
  expect([...problems, ...stranger.problems]).toEqual([]);
});

it("revokes an open invitation that is listed after a hundred newer ones", async () => {
  const { service } = dashboard;
  const owner = await dashboard.newAccount();
  const session = owner.session_token;
  const invite = async (email: string): Promise<string> =>
    (await service.call("POST", "/api/v1/invitations", { session, body: { role: "viewer", email } })).body.id;
  await invite("oldest@example.com");
  for (let n = 0; n < 100; n++)
    await service.call("DELETE", `/api/v1/invitations/${await invite(`newer-${n}@example.com`)}`, {
      session,
    });
  const { page, problems } = await dashboard.openAs(owner);
  await page.goto("/hooks/settings?tab=members");
  await page.getByText("newer-99@example.com").waitFor();
  await page.getByRole("button", { name: "Load more" }).click();
  await page.getByRole("button", { name: "Revoke the invitation of oldest@example.com" }).click();
  await page.getByText("The invitation was revoked.").waitFor();
  expect(problems).toEqual([]);
});
