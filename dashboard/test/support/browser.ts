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
 * One browser for all test files of a worker, with contexts of their own. It ends with the worker: a browser whose pipe
 * closes exits.
 */
export function sharedBrowser(): Promise<Browser> {
  // No page of a test lives for long enough to gain from what the optimizing compiler costs.
  shared ??= startBrowser(["--js-flags=--no-opt"]);
  return shared;
}

/** The browser that comes inside its npm package: nothing to install by hand. */
export async function startBrowser(args: readonly string[] = []): Promise<Browser> {
  return driver.launch({
    executablePath: await chromium.executablePath(),
    args: ["--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", ...args],
    headless: true,
  });
}

/** How long a page may take for one thing that is waited for, on a busy machine. */
const actionLimitMs = 60_000;

/** A page that keeps what must not happen on it: script errors, breaches of the policy, requests elsewhere. */
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
  await context.addInitScript(watchPolicy);
  page.on("pageerror", (error) => problems.push(`script: ${error.message}`));
  context.on("request", (request) => {
    const url = request.url();
    if (!url.startsWith(origin) && !/^(data|blob):/.test(url)) problems.push(`request elsewhere: ${url}`);
  });
  return { page, context, problems };
}

/** Goes to a path within the page that is loaded, as a link does. */
export async function visit(page: Page, path: string): Promise<void> {
  await page.evaluate(`history.pushState({}, "", ${JSON.stringify(path)})`);
}

/** More stops than any page has. */
const mostTabs = 120;

/** Goes there by Tab alone, from where the focus is. @throws where no Tab leads there. */
export async function tabTo(page: Page, wanted: Locator): Promise<void> {
  await wanted.waitFor();
  for (let tabs = 0; tabs < mostTabs; tabs += 1) {
    await page.keyboard.press("Tab");
    if ((await page.locator(":focus").and(wanted).count()) > 0) return;
  }
  throw new Error(`no Tab leads to ${String(wanted)}; the focus is at ${await focusedName(page)}`);
}

/** Until the focus is at what has this name. */
export async function untilFocused(page: Page, name: string): Promise<void> {
  await expect.poll(() => focusedName(page), { timeout: actionLimitMs }).toBe(name);
}

/** The focused element, by its label, text, or tag. */
function focusedName(page: Page): Promise<string> {
  return page.evaluate(`(() => {
    const { activeElement: at } = document;
    const words = at.matches("body, main, input, select, textarea, [role=dialog]") ? "" : at.innerText;
    return at.getAttribute("aria-label") ?? (words || at.labels?.[0]?.innerText || at.localName);
  })()`);
}

/** Runs in the page. */
const watchPolicy = `document.addEventListener("securitypolicyviolation", (event) => {
  window.reportProblem("policy: " + event.violatedDirective + " " + event.blockedURI + " " + event.sample);
});`;
