import axe from "axe-core";
import type { Page } from "playwright-core";
import { afterAll, beforeAll, expect, it } from "vitest";
import { type Agent, startAgent } from "../../server/test/support/agent/startAgent.ts";
import { type Seeded, seed } from "../scripts/seed.ts";
import { type Dashboard, startDashboard } from "./support/dashboard.ts";
import { visit, type WatchedPage } from "./support/browser.ts";

let dashboard: Dashboard;
let agent: Agent;
let seeded: Seeded;

beforeAll(async () => {
  [dashboard, agent] = await Promise.all([startDashboard(), startAgent()]);
  seeded = await seed(
    async (method, path, options) => (await dashboard.service.call(method, path, options)).body,
    { agentCardUrl: agent.cardUrl, items: 12 },
  );
});

afterAll(async () => {
  seeded.stop();
  await dashboard.stop();
  await agent.kill();
});

async function signIn({ page }: WatchedPage): Promise<void> {
  await page.goto("/sign-in");
  await page.getByLabel("Email").fill(seeded.email);
  await page.getByLabel("Password").fill(seeded.password);
  await page.getByRole("button", { name: "Sign in" }).click();
  await page.getByRole("heading", { name: "Overview" }).waitFor();
}

/** The violations that axe finds in a theme, one line each. Both themes have the same markup, but not the same colours. */
async function violations(page: Page, theme: "light" | "dark"): Promise<string[]> {
  // WCAG 2.2 requires targets of 24 px by 24 px, which axe does not check by default.
  const rules =
    theme === "dark" ? ", runOnly: ['color-contrast']" : ", rules: { 'target-size': { enabled: true } }";
  const results = (await page.evaluate(`(() => {
    document.documentElement.dataset.theme = "${theme}";
    return axe.run(document, { resultTypes: ['violations'], preload: false, iframes: false${rules} });
  })()`)) as {
    violations: { id: string; nodes: { html: string; failureSummary: string }[] }[];
  };
  return results.violations.flatMap(({ id, nodes }) =>
    nodes.map(({ html, failureSummary }) => `${id}: ${html.slice(0, 200)} ${failureSummary}`),
  );
}

/** Waits for an item of the target with this status. */
async function untilIs(status: "DELIVERED" | "FAILED", target: string): Promise<string> {
  const path = `/api/v1/events?target_id=${target}&status=${status}&limit=1`;
  const read = async (): Promise<string | undefined> =>
    (await dashboard.service.call("GET", path, { key: seeded.key })).body.events[0]?.id;
  await expect.poll(read).toBeDefined();
  return (await read())!;
}

/** Path, and a text that the loaded page shows. */
function pages(failed: string, delivered: string): [path: string, shown: string][] {
  const { orders, broken, mailbox, agent: agentTarget } = seeded.targets;
  return [
    ["/", "Needs attention"],
    ["/items", "order.created"],
    ["/items?status=FAILED&type=none", "No item matches"],
    [`/items?open=${failed}`, "Failed permanently"],
    [`/items/${delivered}`, "Grace Hopper"],
    ["/targets", "warehouse"],
    ["/targets/new?kind=a2a", "Agent card URL"],
    [`/targets/${orders}`, "Latest items"],
    [`/targets/${broken}?tab=health`, "When an attempt fails"],
    [`/targets/${orders}?tab=secret`, "Reveal the signing secret"],
    [`/targets/${orders}?tab=settings`, "First retry after (seconds)"],
    [`/targets/${agentTarget}?tab=card`, "Agent card"],
    [`/targets/new?kind=webhook&customer=shop-7`, "A secret that the receiver already has"],
    ["/customers", "Corner Shop GmbH"],
    ["/customers?prefix=none", "No customer matches"],
    ["/customers/shop-7", "Delete this customer"],
    ["/event-types", "An order was paid in full."],
    ["/event-types?type=order.created", "Delete this event type"],
    ["/publications", "invoice.paid"],
    ["/publications?customer=none", "No publication matches"],
    [`/publications/${seeded.publication}`, "Send to targets added since"],
    ["/mailboxes", "support inbox"],
    [`/mailboxes/${mailbox}`, "ticket.opened"],
    ["/handoffs", "table.wanted"],
    ["/replays", "status: DELIVERED, target: orders"],
    [`/replays/${seeded.replay}`, "Started by"],
    ["/usage", "Billing is disabled here"],
    ["/settings", "night worker"],
    ["/settings?tab=members", "grace@example.com"],
    ["/settings?tab=notifications", "event.failed"],
    ["/settings?tab=erasures", "Erase all items"],
    ["/settings?tab=portal", "Portal of your customers"],
    ["/settings?tab=audit", "key.created"],
    ["/join", "This invitation is unknown"],
    ["/forgot-password", "We mail you a link"],
    ["/reset", "This link does not work"],
    ["/sign-in", "Stay signed in on this device"],
    ["/sign-up", "8 to 128 characters"],
    ["/reset#token=x", "Choose a new password"],
    ["/no/such/page", "There is no page at this address"],
    ["/start", "Create a target"],
    ["/demo", "A client posts an item"],
    ["/items/none", "There is nothing with this id"],
  ];
}

// The test visits fifty pages and runs axe three times on each. It takes a minute, on a busy machine several.
it(
  "axe finds no violations on any page, in both themes, on wide and narrow windows",
  { timeout: 600_000 },
  async () => {
    const watched = await dashboard.open();
    await signIn(watched);
    const { page, problems } = watched;
    // The page's Content-Security-Policy forbids injected scripts, but not scripts that the driver evaluates.
    await page.evaluate(axe.source);
    const found: string[] = [];
    const failed = await untilIs("FAILED", seeded.targets.broken);
    const delivered = await untilIs("DELIVERED", seeded.targets.orders);
    for (const [path, shown] of pages(failed, delivered)) {
      await visit(page, path);
      for (const width of [1280, 375]) {
        await page.setViewportSize({ width, height: 900 });
        await page.getByText(shown).filter({ visible: true }).first().waitFor();
        found.push(...(await violations(page, "light")).map((text) => `${path} ${width} ${text}`));
        // Colours do not depend on the width.
        if (width === 1280)
          found.push(...(await violations(page, "dark")).map((text) => `${path} dark ${text}`));
        const isTooWide = await page.evaluate("document.documentElement.scrollWidth > innerWidth");
        if (isTooWide === true) found.push(`${path} is wider than ${width} px`);
      }
    }
    expect(found).toEqual([]);
    expect(problems).toEqual([]);
  },
);
