import chromium from "@sparticuz/chromium";
import {
  type Browser,
  type BrowserContext,
  chromium as driver,
  type Locator,
  type Page,
} from "playwright-core";
import { expect } from "vitest";

let shared: Promise<Browser> | undefined;

/**
 * One browser for all test files of a worker; each page has its own context. It ends with the worker, because a browser exits
 * when its pipe closes.
 */
export function sharedBrowser(): Promise<Browser> {
  // Pages of tests live too briefly to gain from the optimizing compiler.
  shared ??= startBrowser(["--js-flags=--no-opt"]);
  return shared;
}

/** Starts the browser that an npm package contains, so that nothing has to be installed by hand. */
export async function startBrowser(args: readonly string[] = []): Promise<Browser> {
  return driver.launch({
    executablePath: await chromium.executablePath(),
    args: ["--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", ...args],
    headless: true,
  });
}

/** Limit for one action or wait of a page, long enough for a busy machine. */
const actionLimitMs = 60_000;

/** A page that records problems: script errors, violations of the Content-Security-Policy, requests to other origins. */
export interface WatchedPage {
  page: Page;
  context: BrowserContext;
  problems: string[];
}

export interface PageOptions {
  theme?: "light" | "dark";
  width?: number;
}

export async function openPage(
  browser: Browser,
  origin: string,
  { theme = "light", width = 1280 }: PageOptions = {},
): Promise<WatchedPage> {
  const context = await browser.newContext({
    baseURL: origin,
    colorScheme: theme,
    viewport: { width, height: 900 },
    reducedMotion: "reduce",
    locale: "en-GB",
    timezoneId: "Europe/London",
  });
  const page = await context.newPage();
  page.setDefaultTimeout(actionLimitMs);
  const problems: string[] = [];
  await context.exposeFunction("reportProblem", (text: string) => void problems.push(text));
  await context.addInitScript(prepare);
  page.on("pageerror", (error) => problems.push(`script: ${error.message}`));
  context.on("request", (request) => {
    const url = request.url();
    if (!url.startsWith(origin) && !/^(data|blob):/.test(url)) problems.push(`request elsewhere: ${url}`);
  });
  return { page, context, problems };
}

/** Navigates to a path within the loaded page, as a link does. */
export async function visit(page: Page, path: string): Promise<void> {
  await page.evaluate(`history.pushState({}, "", ${JSON.stringify(path)})`);
}

/** More tab stops than any page has. */
const mostTabs = 120;

/** Moves the focus to `wanted` with Tab alone. @throws if Tab does not reach it. */
export async function tabTo(page: Page, wanted: Locator): Promise<void> {
  await wanted.waitFor();
  for (let tabs = 0; tabs < mostTabs; tabs += 1) {
    await page.keyboard.press("Tab");
    if ((await page.locator(":focus").and(wanted).count()) > 0) return;
  }
  throw new Error(`no Tab leads to ${String(wanted)}; the focus is at ${await focusedName(page)}`);
}

/** Waits until the element with this name has the focus. */
export async function untilFocused(page: Page, name: string): Promise<void> {
  await expect.poll(() => focusedName(page), { timeout: actionLimitMs }).toBe(name);
}

/** The name of the focused element: its label, text or tag. */
function focusedName(page: Page): Promise<string> {
  return page.evaluate(`(() => {
    const { activeElement: at } = document;
    const words = at.matches("body, main, input, select, textarea, [role=dialog]") ? "" : at.innerText;
    return at.getAttribute("aria-label") ?? (words || at.labels?.[0]?.innerText || at.localName);
  })()`);
}

/** Runs in the page. Safari 17, the oldest that is supported, does not have `URL.parse`. */
const prepare = `delete URL.parse;
document.addEventListener("securitypolicyviolation", (event) => {
  window.reportProblem("policy: " + event.violatedDirective + " " + event.blockedURI + " " + event.sample);
});`;
