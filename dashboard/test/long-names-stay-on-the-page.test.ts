import { afterAll, beforeAll, expect, it } from "vitest";
import { createMailboxTarget, createWebhookTarget, sendItem } from "../../server/test/support/items.ts";
import { type Account, newEmail, signUp } from "../../server/test/support/testNode.ts";
import { type Dashboard, startDashboard } from "./support/dashboard.ts";

/** The longest allowed names, without a space at which a line could break. */
const longName = "n".repeat(200);
const longType = "t".repeat(256);
const longUid = "u".repeat(128);
const longGroup = "g".repeat(64);
const fromTheRight = "ש".repeat(200);

let dashboard: Dashboard;
let account: Account;
const owned = { target: "", item: "", publication: "", mailbox: "" };

beforeAll(async () => {
  dashboard = await startDashboard();
  const { service } = dashboard;
  account = await signUp(service, `${"m".repeat(40)}${newEmail()}`, "n".repeat(100));
  const key = account.api_key;
  await service.call("PATCH", "/api/v1/orgs", { key, body: { name: longName } });
  await service.call("PUT", `/api/v1/customers/${longUid}`, { key, body: { name: longName } });
  await service.call("PUT", `/api/v1/event-types/${longType}`, {
    key,
    body: { description: longName, group: longGroup },
  });
  owned.target = (
    await createWebhookTarget(service, account, "https://receiver.invalid/", {
      name: longName,
      description: longName,
    })
  ).id;
  await createWebhookTarget(service, account, "https://receiver.invalid/", { name: fromTheRight });
  owned.mailbox = await createMailboxTarget(service, account);
  owned.item = await sendItem(service, account, owned.target, { event_type: longType });
  await sendItem(service, account, owned.mailbox, { event_type: longType });
  await service.call("POST", "/api/v1/notification-targets", {
    key,
    body: { target_id: owned.target, event_types: ["event.failed"] },
  });
  owned.publication = (
    await service.call("POST", `/p/${longUid}`, { key, body: { event_type: longType } })
  ).body.id;
});

afterAll(() => dashboard.stop());

/**
 * Returns a script to run in the page. It navigates to the path as a link does, and resolves, once the page shows its title,
 * to whether the page is wider than the window, so that users would have to scroll sideways.
 */
function isTooWide(path: string, title: string, shown = "main h1, [role=dialog] h2"): string {
  return `(async () => {
    history.pushState({}, "", ${JSON.stringify(path)});
    const isThere = () =>
      document.title === ${JSON.stringify(title)} && document.querySelector(${JSON.stringify(shown)}) !== null &&
      document.querySelector(".skeleton") === null;
    for (let looks = 0; !isThere(); looks += 1) {
      if (looks === 600) throw new Error(document.title + " in place of " + ${JSON.stringify(title)});
      await new Promise((resolve) => setTimeout(resolve, 50));
    }
    const { scrollWidth, clientWidth } = document.documentElement;
    return scrollWidth > clientWidth;
  })()`;
}

it("names of any length stay within the page on a phone, a tablet and a desktop screen", async () => {
  const { target, item, publication, mailbox } = owned;
  const paths: readonly (readonly [path: string, title: string, shown?: string])[] = [
    ["/start", "Get started – Postrider"],
    [`/start?target=${target}`, "Get started – Postrider"],
    ["/items", "Items – Postrider", "[role=grid] a"],
    [`/items?type=${longType}`, "Items – Postrider"],
    [`/items?open=${item}`, "Items – Postrider"],
    [`/items/${item}`, `${item.slice(0, 8)}… – Items – Postrider`],
    ["/targets", "Targets – Postrider"],
    ...["", "?tab=health", "?tab=settings"].map(
      (tab) => [`/targets/${target}${tab}`, `${longName} – Targets – Postrider`] as const,
    ),
    ["/customers", "Customers – Postrider"],
    [`/customers/${longUid}`, `${longUid} – Customers – Postrider`],
    [`/event-types?type=${longType}`, "Event types – Postrider"],
    [`/publications/${publication}`, `${publication.slice(0, 8)}… – Publications – Postrider`],
    [`/mailboxes/${mailbox}`, `inbox – Mailboxes – Postrider`],
    ["/settings", "Settings – Postrider"],
    ["/settings?tab=members", "Settings – Postrider", "main:has([aria-current][href*=members]) section li"],
    [
      "/settings?tab=notifications",
      "Settings – Postrider",
      "main:has([aria-current][href*=notifications]) section li",
    ],
    ["/settings?tab=audit", "Settings – Postrider"],
  ];
  const wide: string[] = [];
  for (const width of [375, 768, 1024, 1440]) {
    const { page } = await dashboard.openAs(account, { width });
    await page.goto("/demo");
    for (const [path, title, shown] of paths)
      if ((await page.evaluate(isTooWide(path, title, shown))) === true) wide.push(`${path} at ${width}`);
  }
  expect(wide).toEqual([]);
});

it("a portal with long names and the API reference stay within a phone's screen", async () => {
  const path = `/api/v1/customers/${longUid}/portal-links`;
  const { url } = (await dashboard.service.call("POST", path, { key: account.api_key })).body;
  const { page } = await dashboard.open({ width: 375 });
  await page.goto(new URL(url).pathname + new URL(url).hash);
  await page.getByText(longGroup).waitFor();
  expect(await page.evaluate("document.documentElement.scrollWidth")).toBe(375);
  await page.goto("/docs/mailboxes");
  await page.getByText("/force-release").first().waitFor();
  expect(await page.evaluate("document.documentElement.scrollWidth")).toBe(375);
});

it("a dialog that asks for a long name shows its whole text and its buttons", async () => {
  for (const width of [375, 1280]) {
    const { page } = await dashboard.openAs(account, { width });
    await page.goto(`/targets/${owned.target}?tab=settings`);
    await page.getByRole("button", { name: "Delete this target…" }).click();
    await page.getByLabel(`Type ${longName} to confirm`).waitFor();
    const hidden = await page.evaluate(`(() => {
      const { scrollWidth, clientWidth } = document.querySelector("[role=dialog]");
      return scrollWidth - clientWidth;
    })()`);
    expect(hidden).toBe(0);
  }
});

it("on a phone, a name is cut at its end, also one written from right to left, and the time beside it is visible", async () => {
  const { page } = await dashboard.openAs(account, { width: 375 });
  /** How far the beginning of the text is outside of the element that it is in. */
  const hidden = async (text: string): Promise<unknown> => {
    await page.getByText(text).filter({ visible: true }).first().waitFor();
    return page.evaluate(`(() => {
      const cut = [...document.querySelectorAll(".truncate")].find((one) => one.textContent === "${text}");
      const range = document.createRange();
      range.setStart(cut.firstChild, 0);
      range.setEnd(cut.firstChild, 1);
      const [first, { left, right }] = [range.getBoundingClientRect(), cut.getBoundingClientRect()];
      return Math.max(0, Math.round(left - first.left), Math.round(first.right - right));
    })()`);
  };
  await page.goto("/targets");
  expect(await hidden(longName)).toBe(0);
  expect(await hidden(fromTheRight)).toBe(0);
  await page.goto("/items");
  const row = page.getByRole("row", { name: longName });
  const [at, time] = [
    await row.boundingBox(),
    await row
      .getByText(/ago|now/)
      .last()
      .boundingBox(),
  ];
  expect(time!.x + time!.width).toBeLessThan(at!.x + at!.width);
  await row.getByRole("checkbox").check();
  const [count, clear] = [page.getByText("1 selected"), page.getByRole("button", { name: "Clear" })];
  expect((await clear.boundingBox())!.y).toBeLessThan((await count.boundingBox())!.y);
  // A checkbox whose label needs two lines keeps its size.
  await page.goto(`/targets/${owned.target}`);
  await page.getByRole("button", { name: "Replay failures…" }).click();
  expect((await page.getByLabel(/^New webhook-id/).boundingBox())!.width).toBe(16);
});

it("on a phone, figures are not cut off, and the open tab is visible", async () => {
  const { page } = await dashboard.openAs(account, { width: 375 });
  await page.goto(`/mailboxes/${owned.mailbox}`);
  await page.locator("p.figures").last().waitFor();
  const cut = await page.evaluate(`(() => {
    const figure = [...document.querySelectorAll("p.figures")].at(-1);
    // The text that the figure would have after some minutes.
    figure.textContent = "12 min 40 s";
    return figure.scrollWidth - figure.clientWidth;
  })()`);
  expect(cut).toBe(0);
  await page.goto("/settings?tab=audit");
  await page.getByRole("link", { name: "Audit", exact: true }).waitFor();
  await expect
    .poll(() =>
      page.evaluate(
        `document.querySelector("main [aria-current=page]").getBoundingClientRect().right <= innerWidth`,
      ),
    )
    .toBe(true);
  // Firefox gives a strip that can be scrolled down, even by a pixel, the focus.
  const below = `(({ scrollHeight, clientHeight }) => scrollHeight - clientHeight)(document.querySelector("nav[aria-label=Sections]"))`;
  expect(await page.evaluate(below)).toBe(0);
  // Shadows mark the edges beyond which there are more tabs.
  const shadows = await page.evaluate(
    `getComputedStyle(document.querySelector("nav[aria-label=Sections]")).backgroundAttachment`,
  );
  expect(shadows).toBe("local, local, scroll, scroll");
});

it("on a phone, large figures are neither broken nor cover each other", async () => {
  const large = 98_765_432;
  const { page } = await dashboard.openAs(account, { width: 375 });
  await page.route("**/api/v1/usage", async (route) => {
    const response = await route.fetch();
    const { usage } = (await response.json()) as { usage: object };
    await route.fulfill({ response, json: { usage: { ...usage, accepted_events: large } } });
  });
  await page.route("**/api/v1/target-health?*", async (route) => {
    const response = await route.fetch();
    const { targets } = (await response.json()) as { targets: object[] };
    const counts = { ready: large, claimed: large, dead: large };
    await route.fulfill({
      response,
      json: { targets: targets.map((target) => Object.assign(target, counts)) },
    });
  });
  const shown = "98,765,432";
  await page.goto("/usage");
  await page.getByText(shown).waitFor();
  const lines = await page.evaluate(`(() => {
    const range = document.createRange();
    range.selectNodeContents([...document.querySelectorAll("p.figures")].find((figure) => figure.textContent === "${shown}"));
    return range.getClientRects().length;
  })()`);
  expect(lines).toBe(1);
  // The largest figures that a service accepts in a month.
  const largest = 13_000_000_000;
  await page.context().addInitScript(`const { fillText } = CanvasRenderingContext2D.prototype;
    CanvasRenderingContext2D.prototype.fillText = function (text, x, y) {
      if (this.textAlign === "right" && x < this.measureText(text).width) window.cutLabel = text;
      return fillText.call(this, text, x, y);
    };`);
  await page.route("**/api/v1/stats?*", async (route) => {
    const response = await route.fetch();
    const stats = (await response.text()).replaceAll(/"(accepted|delivered)":\d+/g, `"$1":${largest}`);
    await route.fulfill({ response, body: stats });
  });
  await page.goto("/");
  const accepted = page.locator("p.figures").first();
  await expect.poll(() => accepted.textContent()).toBe("13,000,000,000");
  expect((await accepted.boundingBox())!.height).toBeLessThan(30);
  await page.getByText("replays included").waitFor();
  await page.locator("canvas").waitFor();
  await expect
    .poll(() => page.evaluate("document.querySelector('canvas').width > 0 && window.cutLabel"))
    .toBeUndefined();
  await page.goto("/mailboxes");
  await page.getByText(shown).nth(2).waitFor();
  const beyond = await page.evaluate(
    `[...document.querySelectorAll("dd")].map((count) => count.scrollWidth - count.clientWidth)`,
  );
  expect(beyond).toEqual([0, 0, 0, 0]);
});
