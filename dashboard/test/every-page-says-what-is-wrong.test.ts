import type { Page, Request, Route } from "playwright-core";
import { afterAll, beforeAll, expect, it } from "vitest";
import { createMailboxTarget, createWebhookTarget, sendItem } from "../../server/test/support/items.ts";
import { until } from "../../server/test/support/until.ts";
import type { Account } from "../../server/test/support/testNode.ts";
import { visit } from "./support/browser.ts";
import { type Dashboard, startDashboard } from "./support/dashboard.ts";
import { empty, id, noMatch, nonsense, pages, type Shown } from "./support/shownPages.ts";

let dashboard: Dashboard;
/** An account without any data. */
let account: Account;
/** An account with a target, a mailbox, an item and a publication that reached no target. */
let owner: Account;
const owned = { target: "", mailbox: "", item: "", publication: "" };

beforeAll(async () => {
  dashboard = await startDashboard();
  [account, owner] = await Promise.all([dashboard.newAccount(), dashboard.newAccount()]);
  const { service } = dashboard;
  owned.target = (await createWebhookTarget(service, owner, "https://receiver.invalid/")).id;
  owned.mailbox = await createMailboxTarget(service, owner);
  await service.call("PUT", "/api/v1/event-types/order.paid", {
    key: owner.api_key,
    body: { description: "Paid in full" },
  });
  await service.call("PUT", "/api/v1/customers/shop-7", { key: owner.api_key, body: { name: "Shop GmbH" } });
  owned.publication = (
    await service.call("POST", "/p/shop-7", { key: owner.api_key, body: { event_type: "order.paid" } })
  ).body.id;
  await service.call("POST", "/api/v1/replays", {
    key: owner.api_key,
    body: { filter: { status: "FAILED" } },
  });
  owned.item = await sendItem(service, owner, owned.target, { event_type: "order.created" });
});

afterAll(() => dashboard.stop());

const refusal = (status: number, headers: Record<string, string> = {}) => ({
  status,
  headers: { "x-request-id": "req-of-the-test", ...headers },
  contentType: "application/json",
  body: JSON.stringify({ error: "not now" }),
});

interface Refusal {
  /** Answers every request for data. */
  answer: (route: Route) => Promise<void>;
  /** The page's sentence about the error, and the text of the link or button that helps the user. */
  sentence: RegExp;
  wayOn: RegExp;
  paths?: readonly string[];
}

const roleTooLow: Refusal = {
  answer: (route) => route.fulfill(refusal(403, { "x-error-code": "role_too_low" })),
  sentence: /Your role does not allow this/,
  wayOn: /See members/,
};

/**
 * One page for each way of reading data. Every page is tested with 403 (shown at once) and 503 (shown after retries). For the
 * other errors these pages suffice, because all pages share the code that distinguishes errors.
 */
const eachWay = ["/targets", "/items", `/items?open=${id}`];

const refusals: Record<string, Refusal> = {
  "402": {
    answer: (route) => route.fulfill(refusal(402)),
    sentence: /suspended because an invoice was not paid/,
    wayOn: /See usage and billing/,
    paths: eachWay,
  },
  "403 for the role": roleTooLow,
  "403 while pending": {
    answer: (route) => route.fulfill(refusal(403)),
    sentence: /begin once a payment method is set up/,
    wayOn: /See usage and billing/,
    paths: eachWay,
  },
  "429": {
    answer: (route) => route.fulfill(refusal(429, { "retry-after": "90" })),
    sentence: /Try again in 1 min/,
    wayOn: /Retry/,
    paths: eachWay,
  },
  "503": {
    answer: (route) => route.fulfill(refusal(503)),
    sentence: /The service cannot answer at the moment/,
    wayOn: /Retry/,
  },
  nothing: {
    answer: (route) => route.abort(),
    sentence: /The service cannot be reached/,
    wayOn: /Retry/,
    paths: eachWay,
  },
};

/** Expected content of one path: a text, a link or button that helps the user, and nothing that is still loading. */
interface Wanted {
  path: string;
  text: string | RegExp;
  wayOn: string | RegExp;
  /** The text must be in an alert, together with the link or button. */
  isAlert?: boolean;
}

/**
 * Returns a script that navigates to the path as a link does, and resolves to the missing content after some seconds, or to
 * undefined. It runs in the page, with one call per page, because waiting through the driver would take longer than the pages
 * themselves.
 */
function lookAt({ path, text, wayOn, isAlert = false }: Wanted): string {
  const place = path.includes("open=") ? "[role=dialog]" : "main";
  const pattern = (from: string | RegExp): string =>
    (typeof from === "string" ? new RegExp(from.replaceAll(/[.?*+()]/g, String.raw`\$&`)) : from).toString();
  return `(async () => {
    // Alerts of the previous page must not count for this one.
    for (const alert of document.querySelectorAll("[role=alert]")) alert.dataset.old = "";
    history.pushState({}, "", ${JSON.stringify(path)});
    const text = ${pattern(text)}, wayOn = ${pattern(wayOn)};
    let missing;
    // Longer than the ten seconds after which pages read again by themselves, with what they try again before they say so.
    for (const endsAt = performance.now() + 30_000; performance.now() < endsAt; ) {
      await new Promise((resolve) => setTimeout(resolve, 50));
      const place = document.querySelector("${place}");
      const alert = [...(place?.querySelectorAll("[role=alert]:not([data-old])") ?? [])].find((one) => text.test(one.textContent));
      const old = [...document.querySelectorAll("[role=alert][data-old]")].some((one) => text.test(one.textContent));
      const said = alert ?? (${isAlert} || old || !text.test(place?.innerText ?? "") ? undefined : place);
      const leads = [...(said?.querySelectorAll("a, button, summary") ?? []), ...(${isAlert} ? [] : document.querySelectorAll("a, button"))];
      if (said === undefined) missing = "does not say " + text;
      else if (!leads.some((one) => wayOn.test(one.textContent))) missing = "no way on by " + wayOn;
      else if (place.querySelector(".skeleton") !== null) missing = "goes on loading";
      else return undefined;
    }
    return ${JSON.stringify(path)} + ": " + missing;
  })()`;
}

async function missingAt(page: Page, all: readonly Wanted[]): Promise<string[]> {
  const missing: string[] = [];
  for (const wanted of all) {
    const found = (await page.evaluate(lookAt(wanted))) as string | undefined;
    if (found !== undefined) missing.push(found);
  }
  return missing;
}

/** All requests for data, except the user's own data and the stream. */
const data = /\/api\/v1\/(?!auth\/me|stream)/;

function silentOf(page: Page, paths: readonly string[], { sentence, wayOn }: Refusal): Promise<string[]> {
  return missingAt(
    page,
    paths.map((path) => ({ path, text: sentence, wayOn, isAlert: true })),
  );
}

it.concurrent.for(Object.entries(refusals))(
  "pages whose requests are answered with %s explain the error in a sentence, and offer a link or button",
  async ([_name, kind], { onTestFinished }) => {
    const { page, context, problems } = await dashboard.openAs(account, { onTestFinished });
    await context.route(data, kind.answer);
    // Some requests are retried for a second before the error is shown; two tabs halve the total time.
    const second = await context.newPage();
    const paths = kind.paths ?? pages;
    const half = Math.ceil(paths.length / 2);
    const silent = await Promise.all(
      [page, second].map(async (tab, index) => {
        await tab.goto("/demo");
        return silentOf(tab, index === 0 ? paths.slice(0, half) : paths.slice(half), kind);
      }),
    );
    expect(silent.flat()).toEqual([]);
    expect(problems).toEqual([]);
  },
);

it.concurrent("parts of a page whose requests are refused show the error, while the rest of the page is shown", async ({
  onTestFinished,
}) => {
  const { page, problems } = await dashboard.openAs(owner, { onTestFinished });
  // The target itself, the list of targets and the item can be read.
  await page.route(
    (url) => data.test(url.pathname) && !/\/(targets|events)(\/[0-9a-f]{32})?$/.test(url.pathname),
    roleTooLow.answer,
  );
  await page.goto("/demo");
  const { target, mailbox, item } = owned;
  const paths = [
    "/",
    "/targets",
    "/mailboxes",
    `/targets/${target}?tab=health`,
    `/mailboxes/${mailbox}`,
    `/items/${item}`,
    `/items?open=${item}`,
  ];
  expect(await silentOf(page, paths, roleTooLow)).toEqual([]);
  await visit(page, "/");
  expect(await page.getByText("Nothing. Targets answer").count()).toBe(0);
  expect(problems).toEqual([]);
});

it.concurrent("pages that wait for an answer show that they are loading", async ({ onTestFinished }) => {
  const { page, problems } = await dashboard.openAs(account, { onTestFinished });
  await page.route(data, () => undefined);
  await page.goto("/demo");
  const blank: string[] = [];
  for (const path of pages) {
    await visit(page, path);
    const place = path.includes("open=") ? "[role=dialog]" : "main";
    await page
      .locator(`${place} .skeleton`)
      .first()
      .waitFor()
      .catch(() => blank.push(path));
  }
  expect(blank).toEqual([]);
  expect(problems).toEqual([]);
});

it.concurrent("pages keep their data, with its time, when it cannot be read again", async ({
  onTestFinished,
}) => {
  const { page, problems } = await dashboard.openAs(owner, { onTestFinished });
  let refused: RegExp | undefined;
  await page.route(data, (route) =>
    refused?.test(route.request().url()) === true ? route.fulfill(refusal(500)) : route.fallback(),
  );
  const inFlight = new Set<Request>();
  page.on("request", (request) => data.test(request.url()) && inFlight.add(request));
  const end = (request: Request): unknown => inFlight.delete(request);
  page.on("requestfinished", end);
  page.on("requestfailed", end);
  await page.clock.install();
  await page.goto("/demo");
  const { target, mailbox, item, publication } = owned;
  /** Path, a text that stays on the page, and the requests that are refused. */
  const kept: readonly (readonly [path: string, text: string, refuses?: RegExp])[] = [
    ["/", "Needs attention"],
    ["/items", "order.created"],
    [`/items/${item}`, "order.created"],
    [`/items?open=${item}`, "order.created"],
    ["/targets", "receiver.invalid"],
    [`/targets/${target}`, "order.created"],
    [`/targets/${target}?tab=health`, "When an attempt fails"],
    ["/customers", "Shop GmbH"],
    ["/customers/shop-7", "No targets yet"],
    ["/event-types", "Paid in full"],
    ["/event-types?type=order.paid", "No example was given."],
    // Not the event type, which the previous page shows too.
    ["/publications", "0 items"],
    [`/publications/${publication}`, "It reached no target"],
    ["/mailboxes", "Oldest"],
    [`/mailboxes/${mailbox}`, "In / out per minute"],
    ["/handoffs?state=WORKING", "No handoff is in this state"],
    ["/replays", "status: FAILED"],
    ["/usage", "Accepted this month"],
    ["/settings", "default"],
    ["/settings?tab=members", "(you)"],
    ["/settings?tab=notifications", "No target gets operational events yet."],
    ["/settings?tab=erasures", "Nothing was erased yet."],
    ["/settings?tab=audit", "organization.created"],
    // Only a part of the page cannot be read again.
    ["/targets", "receiver.invalid", /health/],
    ["/mailboxes", "Oldest", /health/],
    ["/", "Failing targets", /health|stats/],
  ];
  /**
   * Visits a page without any of these texts: a page stays visible until the next one has loaded, and both may show the same
   * text.
   */
  const leave = async (): Promise<void> => {
    await visit(page, "/nowhere");
    await page.getByRole("heading", { name: "There is no page at this address" }).waitFor();
  };
  const silent: string[] = [];
  for (const [path, text, refuses = /./] of kept) {
    await leave();
    refused = undefined;
    silent.push(...(await missingAt(page, [{ path, text, wayOn: "" }])));
    // Leaving a page cancels its requests in flight, such as that for an item which its list already shows.
    await page.locator(".progress-bar").first().waitFor({ state: "detached" });
    await until(() => inFlight.size === 0);
    await leave();
    // Data older than two seconds is read again when its page is shown; lists stay in the cache for half a minute.
    await page.clock.fastForward(3_000);
    refused = refuses;
    silent.push(
      ...(await missingAt(page, [
        { path, text, wayOn: "Retry" },
        { path, text: /As of \d\d:\d\d:\d\d/, wayOn: "Retry" },
      ])),
    );
  }
  expect(silent).toEqual([]);
  expect(problems).toEqual([]);
});

/** Links to objects of another organization, and to objects that never existed. */
function foreign(): readonly Shown[] {
  const text = "There is nothing with this id in your organization.";
  const places = ({ target, mailbox, item, publication }: typeof owned): [path: string, wayOn: string][] => [
    [`/items/${item}`, "See all items"],
    [`/items?open=${item}`, "See all items"],
    [`/targets/${target}`, "See all targets"],
    [`/mailboxes/${mailbox}`, "See all mailboxes"],
    [`/handoffs?open=${item}`, "See all handoffs"],
    [`/replays/${item}`, "See all replays"],
    ["/customers/shop-7", "See all customers"],
    ["/event-types?type=order.paid", "See all event types"],
    [`/publications/${publication}`, "See all publications"],
  ];
  const none = { target: "none", mailbox: "none", item: "none", publication: "none" };
  return [owned, { target: id, mailbox: id, item: id, publication: id }, none].flatMap((of) =>
    places(of).map(([path, wayOn]) => [path, text, wayOn] as const),
  );
}

function missing(page: Page, table: readonly Shown[]): Promise<string[]> {
  return missingAt(
    page,
    table.map(([path, text, wayOn]) => ({ path, text, wayOn })),
  );
}

it.concurrent("pages without data, with a filter that matches nothing, with an invalid value or of another organization explain that, and offer a link or button", async ({
  onTestFinished,
}) => {
  const { page, problems } = await dashboard.openAs(account, { onTestFinished });
  await page.goto("/demo");
  expect(await missing(page, [...empty, ...noMatch, ...nonsense, ...foreign()])).toEqual([]);
  const own = await dashboard.openAs(owner, { onTestFinished });
  await own.page.goto("/demo");
  const { target, mailbox, publication } = owned;
  expect(
    await missing(own.page, [
      ["/targets?name=none", "No target matches", "Clear the filter"],
      [`/mailboxes/${mailbox}`, "No waiting messages", "Messages"],
      [`/mailboxes/${mailbox}?status=DEAD`, "No message is DEAD", "Show waiting messages"],
      [`/mailboxes/${mailbox}?status=LOST`, /status/i, "Show waiting messages"],
      [`/mailboxes/${mailbox}?tab=none`, "No waiting messages", "Messages"],
      [`/mailboxes/${mailbox}?open=none`, "There is nothing with this id", "See all mailboxes"],
      ["/customers/shop-7", "No targets yet", "New target"],
      [`/publications/${publication}?show=none`, "It reached no target", "Send to targets added since"],
      [`/publications/${publication}?show=failed`, "No items with this status", "Show all items"],
      [`/targets/${target}?tab=none`, "Latest items", "Show all items"],
      [`/targets/${target}?open=none`, "There is nothing with this id", "See all targets"],
      // Each kind has its own page; a link to the other kind's page redirects to it.
      [`/mailboxes/${target}`, "Latest items", "Show all items"],
      [`/targets/${mailbox}`, "No waiting messages", "Messages"],
    ]),
  ).toEqual([]);
  expect([...problems, ...own.problems]).toEqual([]);
});

it.concurrent("every page with an ended session leads to the sign-in page, which remembers the page", async ({
  onTestFinished,
}) => {
  const { page } = await dashboard.openAs(account, { onTestFinished });
  await page.goto("/demo");
  const ended = JSON.stringify({ token: "st_ended", email: account.user.email });
  const elsewhere: string[] = [];
  for (const path of ["/targets/new", ...pages]) {
    await page.evaluate(`sessionStorage.setItem("postrider.session", ${JSON.stringify(ended)})`);
    await page.goto(path);
    await page
      .getByText("Sign in to continue.")
      .waitFor()
      .catch(() => elsewhere.push(path));
    if (new URL(page.url()).searchParams.get("next") !== path) elsewhere.push(`${path}: ${page.url()}`);
  }
  expect(elsewhere).toEqual([]);
});
