import chromium from "@sparticuz/chromium";
import { type Browser, type BrowserContext, chromium as driver, type Page } from "playwright-core";

let shared: Promise<Browser> | undefined;

/**
 * One browser for all test files of a worker, with contexts of their own. It ends with the worker: a browser whose pipe
 * closes exits.
 */
export function sharedBrowser(): Promise<Browser> {
  shared ??= startBrowser();
  return shared;
}

/** The browser that comes inside its npm package: nothing to install by hand. */
export async function startBrowser(): Promise<Browser> {
  return driver.launch({
    executablePath: await chromium.executablePath(),
    args: ["--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage"],
    headless: true,
  });
}

/** How long a page may take for one thing that is waited for, on a busy machine. */
const actionLimitMs = 15_000;

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

/** Runs in the page. */
const watchPolicy = `document.addEventListener("securitypolicyviolation", (event) => {
  window.reportProblem("policy: " + event.violatedDirective + " " + event.blockedURI + " " + event.sample);
});`;
