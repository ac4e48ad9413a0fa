import { expect, it } from "vitest";
import { createMailboxTarget, createWebhookTarget } from "../../server/test/support/items.ts";
import { stageOfFile } from "./support/stage.ts";

const stage = stageOfFile();

/** Largest number of requests to the interface that a page may make until it shows all its data. */
const most = 6;

it("every page shows 88 targets, 20 mailboxes and 30 customers with at most six requests", async () => {
  const { service } = stage.dashboard;
  const key = stage.account.api_key;
  const receiver = stage.receiver.url;
  const targets: string[] = [];
  for (let number = 0; number < 68; number++) {
    targets.push((await createWebhookTarget(service, stage.account, `${receiver}/many/${number}`)).id);
  }
  for (let number = 0; number < 20; number++) {
    targets.push(await createMailboxTarget(service, stage.account));
  }
  for (let number = 0; number < 30; number++) {
    await service.call("PUT", `/api/v1/customers/c${number}`, { key, body: { name: `Customer ${number}` } });
  }
  const item = await stage.organization.send(targets[0]!);
  const paths = [
    "/",
    "/items",
    `/items/${item}`,
    "/targets",
    `/targets/${targets[0]}`,
    `/targets/${targets[0]}?tab=health`,
    `/targets/${targets[0]}?tab=settings`,
    "/mailboxes",
    `/mailboxes/${targets[87]}`,
    "/customers",
    "/customers/c1",
    "/event-types",
    "/publications",
    "/handoffs",
    "/replays",
    "/usage",
    "/settings",
    "/settings?tab=members",
    "/settings?tab=audit",
  ];
  const { page, problems } = await stage.dashboard.openAs(stage.account);
  const counts: Record<string, string[]> = {};
  for (const path of paths) {
    // Each address counts once, so that later refreshes are not counted.
    const asked = new Set<string>();
    const note = (request: { url: () => string; method: () => string }): void => {
      const { pathname, search } = new URL(request.url());
      if (pathname.startsWith("/api/")) asked.add(`${request.method()} ${pathname}${search}`);
    };
    page.on("request", note);
    await page.goto(path);
    await page.locator("h1").first().waitFor();
    // The stream stays open, so the network is never idle. All other requests are answered once no skeleton is left.
    await expect
      .poll(async () => {
        const before = asked.size;
        await page.evaluate("new Promise((resolve) => requestIdleCallback(resolve))");
        return (await page.locator(".skeleton").count()) === 0 && asked.size === before;
      })
      .toBe(true);
    page.off("request", note);
    if (asked.size > most) counts[path] = [...asked];
  }
  expect(counts).toEqual({});
  expect(problems).toEqual([]);
});
