/**
 * Makes the pictures of `docs/images` from a database that it seeds.
 * Usage: npm run screenshots [-- folder]; with a folder, it writes a picture of every page there: light and dark, wide and
 * narrow.
 */
import { mkdir, mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Browser, Page } from "playwright-core";
import { startAgent } from "../../server/test/support/agent/startAgent.ts";
import { startService, type ServiceProcess } from "../../server/test/support/serviceProcess.ts";
import { buildIfStale } from "../test/support/build.ts";
import { openPage, startBrowser } from "../test/support/browser.ts";
import { seed, type Seeded } from "./seed.ts";

interface Picture {
  name: string;
  path: string;
  /** A text that the loaded page shows. */
  shown: string;
}

/** Names of the screenshots that the documentation shows. */
const documented = new Set(
  [
    "overview-light-1440",
    "overview-dark-1440",
    "items-light-1440",
    "item-light-1440",
    "target-dark-1440",
  ].concat(["new-target-light-1440", "mailbox-light-1440", "handoffs-light-375", "item-dark-375"]),
);
const folder = process.argv[2] ?? join(import.meta.dirname, "../../docs/images");
await mkdir(folder, { recursive: true });
await buildIfStale();
const dataDir = await mkdtemp(join(tmpdir(), "postrider-screenshots-"));
const agent = await startAgent();
const service = await startService({ storage: { dataDir } });
const browser = await startBrowser();
try {
  const seeded = await seed(
    async (method, path, options) => (await service.call(method, path, options)).body as unknown,
    { agentCardUrl: agent.cardUrl, items: 240 },
  );
  await untilQuiet(service, seeded);
  const failed = await newest(service, seeded, "FAILED");
  for (const theme of ["light", "dark"] as const)
    for (const width of [1440, 375]) await takeAll(browser, { seeded, failed, theme, width });
  seeded.stop();
} finally {
  await browser.close();
  await service.stop();
  await agent.kill();
  await rm(dataDir, { recursive: true, force: true });
}

interface Series {
  seeded: Seeded;
  /** Id of an item that failed. */
  failed: string;
  theme: "light" | "dark";
  width: number;
}

async function takeAll(browser: Browser, { seeded, failed, theme, width }: Series): Promise<void> {
  const { page, context } = await openPage(browser, service.url, { theme, width });
  await page.goto("/sign-in");
  await page.getByLabel("Email").fill(seeded.email);
  await page.getByLabel("Password").fill(seeded.password);
  await page.getByRole("button", { name: "Sign in" }).click();
  await page.getByRole("heading", { name: "Overview" }).waitFor();
  for (const picture of pictures(seeded, failed)) {
    const name = `${picture.name}-${theme}-${width}`;
    if (process.argv[2] !== undefined || documented.has(name)) await take(page, picture, `${name}.png`);
  }
  await context.close();
}

async function take(page: Page, { path, shown }: Picture, file: string): Promise<void> {
  await page.goto(path);
  await page.getByText(shown).filter({ visible: true }).first().waitFor();
  // The event stream never ends, so the network is never idle: wait for fonts and skeletons instead.
  await page.evaluate("document.fonts.ready");
  await untilRead(page);
  // With a folder argument: the full page, except for virtual lists, which draw only the rows in view. Otherwise one window.
  const fullPage = process.argv[2] !== undefined && (await page.locator("[role=grid]").count()) === 0;
  await page.screenshot({ path: join(folder, file), fullPage });
  console.log(file);
}

/** Waits until no query and no part of the page is loading. */
async function untilRead(page: Page): Promise<void> {
  // By selector, because an open drawer hides the button from roles.
  if (new URL(page.url()).pathname !== "/demo") await page.locator("[aria-label=Account]").waitFor();
  await page.locator(".skeleton, .progress-bar").first().waitFor({ state: "detached" });
}

function pictures({ targets, replay }: Seeded, failed: string): Picture[] {
  return [
    { name: "overview", path: "/?range=1h", shown: "Needs attention" },
    { name: "items", path: "/items", shown: "table.wanted" },
    { name: "item", path: `/items?open=${failed}`, shown: "Failed permanently" },
    { name: "targets", path: "/targets", shown: "warehouse" },
    { name: "target", path: `/targets/${targets.broken}?tab=health`, shown: "When an attempt fails" },
    { name: "secret", path: `/targets/${targets.orders}?tab=secret`, shown: "Rotate the signing secret" },
    { name: "new-target", path: "/targets/new", shown: "Destination" },
    { name: "customers", path: "/customers", shown: "Corner Shop GmbH" },
    { name: "event-type", path: "/event-types?type=order.shipped", shown: "Delete this event type" },
    { name: "event-types", path: "/event-types", shown: "An order was paid in full." },
    { name: "customer", path: "/customers/shop-7", shown: "Delete this customer" },
    { name: "publications", path: "/publications", shown: "invoice.paid" },
    { name: "mailbox", path: `/mailboxes/${targets.mailbox}`, shown: "ticket.opened" },
    { name: "handoffs", path: "/handoffs", shown: "Input required" },
    { name: "replays", path: "/replays", shown: "status: DELIVERED" },
    { name: "replay", path: `/replays/${replay}`, shown: "Started by" },
    {
      name: "target-settings",
      path: `/targets/${targets.orders}?tab=settings`,
      shown: "Custom headers",
    },
    { name: "members", path: "/settings?tab=members", shown: "grace@example.com" },
    { name: "notifications", path: "/settings?tab=notifications", shown: "event.failed" },
    { name: "erasures", path: "/settings?tab=erasures", shown: "Erase all items" },
    { name: "audit-log", path: "/settings?tab=audit", shown: "key.created" },
    { name: "usage", path: "/usage", shown: "Billing is disabled here" },
    { name: "settings", path: "/settings", shown: "night worker" },
    { name: "start", path: "/start", shown: "Create a target" },
    { name: "demo", path: "/demo", shown: "A client posts an item" },
  ];
}

/** Waits until the broken target has at least six failed items. @throws after 30 s. */
async function untilQuiet(service: ServiceProcess, seeded: Seeded): Promise<void> {
  const deadline = Date.now() + 30_000;
  for (;;) {
    const query = `target_id=${seeded.targets.broken}&status=FAILED&limit=100`;
    const { body } = await service.call("GET", `/api/v1/events?${query}`, { key: seeded.key });
    if (body.events.length >= 6) return;
    if (Date.now() > deadline) throw new Error("the seeded items did not come to their end within 30 s");
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
}

async function newest(service: ServiceProcess, { key }: Seeded, status: string): Promise<string> {
  const { body } = await service.call("GET", `/api/v1/events?status=${status}&limit=1`, { key });
  return body.events[0].id as string;
}
