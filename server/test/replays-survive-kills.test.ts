import { expect } from "vitest";
import { until } from "./support/until.ts";
import { createWebhookTarget, listEvents, sendItems } from "./support/items.ts";
import { answerOk } from "./support/receiver.ts";
import { signUp } from "./support/testNode.ts";
import { stageTest } from "./support/fixtures.ts";
import { untilNothingIsDue } from "./support/storedItems.ts";
import { holdRows } from "./support/heldLocks.ts";
import { endSessions } from "./support/otherHands.ts";
import { endReplayLease } from "./support/passedTime.ts";
import { type ReplayWork, workOnReplay } from "./support/unseenRows.ts";
import { untilWaiting } from "./support/untilWaiting.ts";

const it = stageTest;

const items = 200;
/** When a worker is killed: its batch continues, or is stored by its session alone, or is not stored. */
const ends = ["while it goes on", "while its batch is stored", "before its batch is stored"] as const;
const limitMs = 60_000;
const settings = { POSTRIDER_DELIVERY_TIMEOUT_MS: "2000" };

it("a replay of many makes one event of each source, although its node is killed during the work", async ({
  pool,
  receiver,
  start,
}) => {
  // One node at a time works on replays, so that the killed node is at work; the other node sends the items.
  const sender = await start({ ...settings, POSTRIDER_ROLES: "api,dispatcher" });
  const account = await signUp(sender);
  const key = account.api_key;
  const targets = await Promise.all(
    ["/a", "/b"].map((path) => createWebhookTarget(sender, account, receiver.url + path)),
  );
  const sources: string[] = [];
  for (const { id } of targets) sources.push(...(await sendItems(sender, account, id, items / 2)));
  await untilNothingIsDue(pool);

  const filter = { status: "DELIVERED" };
  const asked = await sender.call("POST", "/api/v1/replays", {
    key,
    body: { filter, rate_per_second: 30 },
  });
  expect(asked).toMatchObject({ status: 202, body: { total: items } });
  const { id } = asked.body;
  const progress = (): Promise<ReplayWork> => workOnReplay(pool, id);
  for (const end of ends) {
    const { replayed } = await progress();
    // Blocks between a cursor and its events, which wait for a lock on their target's row.
    const letGo = await holdRows(pool, "targets", { id: targets.map((target) => target.id) });
    const worker = await start(settings);
    await untilWaiting(pool, "advance_replay");
    if (end === "while it goes on") await letGo();
    worker.kill("SIGKILL");
    await worker.ended;
    // A session notices the end of its process only once it has the lock.
    if (end === "before its batch is stored") await endSessions(pool, ["advance_replay"]);
    await letGo();
    if (end === "while its batch is stored") await until(progress, (now) => now.replayed > replayed);
    // Ends the killed worker's lease now, instead of waiting fifteen seconds for it to lapse.
    await endReplayLease(pool, id);
  }
  await start(settings);
  await until(progress, ({ status }) => status === "DONE", limitMs);
  await untilNothingIsDue(pool, limitMs);

  receiver.answer = answerOk;
  const job = await until(
    async () => (await sender.call("GET", `/api/v1/replays/${id}`, { key })).body,
    ({ delivered }) => delivered === items,
    limitMs,
  );
  expect(job).toMatchObject({ total: items, replayed: items, delivered: items, failed: 0, skipped: 0 });
  // As many events as sources, and each source arrived: each was replayed once.
  expect(await listEvents(sender, account, `replay_id=${id}`)).toHaveLength(items);
  const arrived = receiver.received.flatMap(({ headers }) => headers["x-source-event-id"] ?? []);
  expect(new Set(arrived)).toEqual(new Set(sources));
});
