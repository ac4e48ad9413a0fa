import type { Route } from "playwright-core";
import { afterAll, beforeAll, expect, it } from "vitest";
import type { Account } from "../../server/test/support/testNode.ts";
import { visit } from "./support/browser.ts";
import { type Dashboard, startDashboard } from "./support/dashboard.ts";

let dashboard: Dashboard;
let account: Account;

beforeAll(async () => {
  dashboard = await startDashboard();
  account = await dashboard.newAccount();
});

afterAll(() => dashboard.stop());

const id = "0123456789abcdef0123456789abcdef";
const pages = [
  "/?skip=1",
  "/start",
  "/items",
  `/items?open=${id}`,
  `/items/${id}`,
  "/targets",
  `/targets/${id}`,
  "/mailboxes",
  `/mailboxes/${id}`,
  "/handoffs",
  "/replays",
  `/replays/${id}`,
  "/usage",
  "/settings",
  "/settings?tab=members",
  "/settings?tab=notifications",
  "/settings?tab=erasures",
  "/settings?tab=audit",
];

const refusal = (status: number, headers: Record<string, string> = {}) => ({
  status,
  headers: { "x-request-id": "req-of-the-test", ...headers },
  contentType: "application/json",
  body: JSON.stringify({ error: "not now" }),
});

interface Refusal {
  /** What every request for data is answered. */
  answer: (route: Route) => Promise<void>;
  /** How the page says it, and the name of what leads on. */
  sentence: RegExp;
  wayOn: RegExp;
  paths: readonly string[];
}

/** One of each kind of page: those that are read as a whole, page by page, and in a drawer. */
const someOfEach = ["/targets", "/items", `/items?open=${id}`];

const refusals: Record<string, Refusal> = {
  "402": {
    answer: (route) => route.fulfill(refusal(402)),
    sentence: /suspended because an invoice was not paid/,
    wayOn: /See usage and billing/,
    paths: someOfEach,
  },
  "403": {
    answer: (route) => route.fulfill(refusal(403, { "x-error-code": "role_too_low" })),
    sentence: /Your role does not allow this/,
    wayOn: /See members/,
    paths: pages,
  },
  "429": {
    answer: (route) => route.fulfill(refusal(429, { "retry-after": "90" })),
    sentence: /Try again in 1 min/,
    wayOn: /Retry/,
    paths: someOfEach,
  },
  "503": {
    answer: (route) => route.fulfill(refusal(503)),
    sentence: /The service cannot answer at the moment/,
    wayOn: /Retry/,
    paths: someOfEach,
  },
  nothing: {
    answer: (route) => route.abort(),
    sentence: /The service cannot be reached/,
    wayOn: /Retry/,
    paths: someOfEach,
  },
};

/** So that what the page before said is not taken for what this one says. Runs in the page. */
const markAsOld = `for (const alert of document.querySelectorAll("[role=alert]")) alert.dataset.old = "";`;

it.concurrent.each(Object.entries(refusals))(
  "pages that are answered %s say so in a sentence, and lead on",
  async (_name, { answer, sentence, wayOn, paths }) => {
    const { page, problems } = await dashboard.openAs(account);
    await page.route(/\/api\/v1\/(?!auth\/me|stream)/, answer);
    await page.goto("/demo");
    const silent: string[] = [];
    for (const path of paths) {
      await page.evaluate(markAsOld);
      await visit(page, path);
      const place = page.getByRole(path.includes("open=") ? "dialog" : "main");
      const alert = place.locator("[role=alert]:not([data-old])").filter({ hasText: sentence }).first();
      await alert.waitFor().catch(() => silent.push(path));
      const leads = alert.getByRole("link", { name: wayOn }).or(alert.getByRole("button", { name: wayOn }));
      if ((await leads.count()) === 0) silent.push(`${path}: no way on`);
    }
    expect(silent).toEqual([]);
    expect(problems).toEqual([]);
  },
);
