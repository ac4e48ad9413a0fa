import { expect, it } from "vitest";
import { createMailboxTarget, sendItem } from "../../server/test/support/items.ts";
import { until } from "../../server/test/support/until.ts";
import { stageOfFile } from "./support/stage.ts";

const stage = stageOfFile();

it("reads a mailbox's loaded pages again only after its own changes, and the less often the more there are", async () => {
  const { service } = stage.dashboard;
  const owner = await stage.dashboard.newAccount();
  const [mailbox, other] = [
    await createMailboxTarget(service, owner),
    await createMailboxTarget(service, owner),
  ];
  const send = (to: string): Promise<string> => sendItem(service, owner, to, { event_type: "ticket" });
  for (let n = 0; n < 301; n++) await send(mailbox);
  const { page, problems } = await stage.dashboard.openAs(owner);
  const firstPages: number[] = [];
  page.on("request", (request) => {
    const { pathname, searchParams } = new URL(request.url());
    if (pathname.endsWith(`/${mailbox}/messages`) && !searchParams.has("after")) firstPages.push(Date.now());
  });
  await page.goto(`/mailboxes/${mailbox}`);
  await page.getByRole("button", { name: /^Live/ }).waitFor();
  const more = page.getByRole("button", { name: "Load more" });
  for (let pages = 1; pages < 4; pages++) {
    const read = page.waitForResponse(/messages\?.*after=/);
    await more.click();
    await read;
  }
  await more.waitFor({ state: "detached" });
  // Changes before and during the first reads may still cause one more.
  const pause = async (ms: number): Promise<void> => {
    const begin = await page.evaluate(() => performance.now());
    await until(
      () => page.evaluate(() => performance.now()),
      (now) => now > begin + ms,
    );
  };
  await pause(6000);
  firstPages.length = 0;
  await send(other);
  await pause(3000);
  expect(firstPages).toEqual([]);
  await until(async () => {
    await send(mailbox);
    return firstPages.length >= 3;
  });
  const gaps = firstPages.slice(1).map((at, index) => at - firstPages[index]!);
  expect(Math.min(...gaps)).toBeGreaterThan(3500);
  expect(problems).toEqual([]);
});

it("shows the present status of items far down the list, and how many there no longer match", async () => {
  const { service } = stage.dashboard;
  const owner = await stage.dashboard.newAccount();
  const mailbox = await createMailboxTarget(service, owner);
  const ids: string[] = [];
  for (let n = 0; n < 130; n++) ids.push(await sendItem(service, owner, mailbox, { event_type: "ticket" }));
  const claim = (id: string): Promise<unknown> =>
    service.call("POST", `/api/v1/mailbox-messages/${id}/claim`, { key: owner.api_key });
  const { page, problems } = await stage.dashboard.openAs(owner);
  const row = (id: string) => page.getByRole("row").filter({ has: page.getByLabel(`Select ${id}`) });
  const scrollTo = (id: string): Promise<unknown> =>
    until(async () => {
      await page.evaluate("window.scrollTo(0, document.body.scrollHeight)");
      return (await row(id).count()) > 0;
    });
  const [oldest, second] = ids;
  await page.goto("/items");
  await page.getByRole("button", { name: /^Live/ }).waitFor();
  await scrollTo(oldest!);
  await row(oldest!).getByText("UNREAD").waitFor();
  await claim(oldest!);
  await row(oldest!).getByText("CLAIMED").waitFor();

  await page.goto("/items?status=UNREAD");
  await row(ids.at(-1)!).waitFor();
  await claim(ids.at(-1)!);
  // Items that are not loaded yet do not count as new.
  await page.getByRole("button", { name: "1 no longer matches", exact: true }).click();
  await row(ids.at(-2)!).waitFor();
  await scrollTo(second!);
  await claim(second!);
  await page.getByRole("button", { name: "1 no longer matches", exact: true }).waitFor();
  expect(problems).toEqual([]);
});
