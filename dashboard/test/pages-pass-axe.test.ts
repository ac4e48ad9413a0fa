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

/** What axe finds, one line each. Markup is the same in both themes, colours are not. */
async function violations(page: Page, only: "everything" | "colours"): Promise<string[]> {
  // The policy forbids injected scripts to the page; the driver evaluates beside it.
  if (!(await page.evaluate("'axe' in window"))) await page.evaluate(axe.source);
  const rules = only === "colours" ? ", runOnly: ['color-contrast']" : "";
  const results = (await page.evaluate(`axe.run(document, { resultTypes: ['violations']${rules} })`)) as {
    violations: { id: string; nodes: { html: string; failureSummary: string }[] }[];
  };
  return results.violations.flatMap(({ id, nodes }) =>
    nodes.map(({ html, failureSummary }) => `${id}: ${html.slice(0, 200)} ${failureSummary}`),
  );
}

/** Path, and a text that is there once the page is. */
function pages(): [path: string, shown: string][] {
  const { orders, broken, mailbox, agent: agentTarget } = seeded.targets;
  return [
    ["/", "Needs attention"],
    ["/items", "order.created"],
    ["/items?status=FAILED&type=none", "No item matches"],
    ["/targets", "warehouse"],
    ["/targets/new?kind=a2a", "Agent card URL"],
    [`/targets/${orders}`, "Latest items"],
    [`/targets/${broken}?tab=health`, "When an attempt fails"],
    [`/targets/${orders}?tab=secret`, "Rotate the signing secret"],
    [`/targets/${orders}?tab=settings`, "First wait, seconds"],
    [`/targets/${agentTarget}?tab=card`, "Agent card"],
    ["/mailboxes", "support inbox"],
    [`/mailboxes/${mailbox}`, "ticket.opened"],
    ["/handoffs", "table.wanted"],
    ["/replays", "status: DELIVERED, target: orders"],
    [`/replays/${seeded.replay}`, "Started by"],
    ["/usage", "Billing is disabled here"],
    ["/settings", "night worker"],
    ["/settings?tab=members", "grace@example.com"],
    ["/settings?tab=notifications", "event.failed"],
    ["/settings?tab=erasures", "Erase all its items"],
    ["/settings?tab=audit", "key.created"],
    ["/join", "This invitation is unknown"],
    ["/start", "Make a target"],
    ["/demo", "A client posts an item"],
    ["/items/none", "There is nothing with this id"],
  ];
}

const themes = [
  ["light", "everything"],
  ["dark", "colours"],
] as const;

it.each(themes)("axe finds nothing on any page in the %s theme, wide and narrow", async (theme, only) => {
  const watched = await dashboard.open({ theme });
  await signIn(watched);
  const { page, problems } = watched;
  const found: string[] = [];
  for (const [path, shown] of pages()) {
    await visit(page, path);
    for (const width of [1280, 375]) {
      await page.setViewportSize({ width, height: 900 });
      await page.getByText(shown).filter({ visible: true }).first().waitFor();
      found.push(...(await violations(page, only)).map((text) => `${path} ${width} ${text}`));
      const isTooWide = await page.evaluate("document.documentElement.scrollWidth > innerWidth");
      if (isTooWide === true) found.push(`${path} is wider than ${width} px`);
    }
  }
  expect(found).toEqual([]);
  expect(problems).toEqual([]);
});
