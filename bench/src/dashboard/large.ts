import type { BenchService } from "../benchService.ts";
import { atMost, type Figure } from "../figures.ts";
import { host } from "../workload.ts";
import type { Visitor } from "./account.ts";
import { storeItems, storeMessages } from "./fill.ts";
import { type Page, told, watchFrames } from "./watchPage.ts";

const listed = 100_000;
const messages = 1_000_000;
const rowsSelector = "[role=grid][aria-label=Items]";
/** The goal for opening a page: people perceive up to a second as immediate. */
const atOnceMs = 1_000;

/** Measures pages with large data: a list of 100,000 items, a payload of 1 MiB, a mailbox with a million messages. */
export async function largeFigures(service: BenchService, visitor: Visitor): Promise<Figure[]> {
  return [
    ...(await longList(service, visitor)),
    ...(await largePayload(service, visitor)),
    ...(await fullMailbox(service, visitor)),
  ];
}

async function longList(service: BenchService, { page, key }: Visitor): Promise<Figure[]> {
  const target = await service.createTarget({ kind: "webhook", name: "long list", url: nowhere }, key);
  await post(service, key, target, { event_type: "order.created" });
  await storeItems(service, target, listed);
  const openMs = await opened(page, `/items?target=${target}`, rowsSelector);
  const loading = await watchFrames(page, () => scrollToEnd(page, listed));
  const scrolling = await watchFrames(page, () => scrollThrough(page));
  return [
    atMost("100,000 items: the list opens", openMs, atOnceMs),
    { name: "its frames while 1,000 pages load, p50 / p95 / p99 / worst", value: told(loading) },
    { name: "its frames scrolled through, p50 / p95 / p99 / worst", value: told(scrolling) },
    atMost("p99 of its frames scrolled through", scrolling.p99, 50),
  ];
}

/** Scrolls to the end repeatedly until all rows are loaded. */
async function scrollToEnd(page: Page, count: number): Promise<void> {
  const limit = Date.now() + 300_000;
  for (;;) {
    await page.evaluate("window.scrollTo(0, document.documentElement.scrollHeight)");
    const rows = Number(await page.locator(rowsSelector).getAttribute("aria-rowcount"));
    if (rows > count) return;
    if (Date.now() > limit) throw new Error(`only ${rows} rows were loaded in five minutes`);
  }
}

/** Scrolls from the end to the top in large steps, then slowly for some seconds. */
async function scrollThrough(page: Page): Promise<void> {
  await page.evaluate(`new Promise((resolve) => {
    let frame = 0;
    const height = document.documentElement.scrollHeight;
    requestAnimationFrame(function step() {
      frame += 1;
      if (frame <= 200) window.scrollTo(0, height * (1 - frame / 200));
      else window.scrollBy(0, 60);
      if (frame < 600) requestAnimationFrame(step);
      else resolve();
    });
  })`);
}

async function largePayload(service: BenchService, { page, key }: Visitor): Promise<Figure[]> {
  const target = await service.createTarget({ kind: "webhook", name: "large", url: nowhere }, key);
  const mailbox = await service.createTarget({ kind: "mailbox", name: "large" }, key);
  // Almost 1 MiB of small JSON members.
  const lines = Array.from({ length: 21_500 }, (_, n) => ({ sku: `A-${n}`, number: n, paid: n % 2 === 0 }));
  const body = { event_type: "order.large", lines };
  const bytes = JSON.stringify(body).length;
  const item = await post(service, key, target, body);
  const message = await post(service, key, mailbox, body);
  const preview = "[aria-label='Payload as sent']";
  const itemMs = await opened(page, `/items/${item}`, preview);
  const messageMs = await opened(page, `/mailboxes/${mailbox}?open=${message}`, preview);
  const kib = `${Math.round(bytes / 1024)} KiB`;
  return [
    atMost(`an item of ${kib} opens`, itemMs, atOnceMs),
    atMost(`a message of ${kib} opens`, messageMs, atOnceMs),
  ];
}

async function fullMailbox(service: BenchService, { page, key }: Visitor): Promise<Figure[]> {
  const mailbox = await service.createTarget({ kind: "mailbox", name: "full" }, key);
  await post(service, key, mailbox, { event_type: "ticket.opened" });
  await storeMessages(service, mailbox, messages);
  const rows = "main button:has-text('ticket.opened')";
  const openMs = await opened(page, `/mailboxes/${mailbox}`, rows);
  const deadMs = await opened(page, `/mailboxes/${mailbox}?status=DEAD`, "text=No message is DEAD");
  const overviewMs = await opened(page, "/mailboxes", "main >> text=1,000,001");
  return [
    atMost("a mailbox of 1,000,000 messages opens", openMs, atOnceMs),
    atMost("its dead messages, none", deadMs, atOnceMs),
    atMost("the page of all mailboxes", overviewMs, atOnceMs),
  ];
}

/** Milliseconds from navigation until `selector` is visible; the median of five. */
async function opened(page: Page, path: string, selector: string): Promise<number> {
  const took: number[] = [];
  for (let tries = 0; tries < 5; tries++) {
    const startedAt = performance.now();
    await page.goto(path);
    await page.locator(selector).filter({ visible: true }).first().waitFor();
    took.push(performance.now() - startedAt);
  }
  return took.toSorted((one, other) => one - other)[2]!;
}

/** Refuses connections, so that items wait for a retry. */
const nowhere = `http://${host}:9/`;

async function post(service: BenchService, key: string, target: string, body: object): Promise<string> {
  const answer = await fetch(`http://${host}:${service.port}/t/${target}`, {
    method: "POST",
    headers: { "content-type": "application/json", authorization: `Bearer ${key}` },
    body: JSON.stringify(body),
  });
  if (!answer.ok) throw new Error(`posting was answered with ${answer.status}: ${await answer.text()}`);
  return ((await answer.json()) as { id: string }).id;
}
