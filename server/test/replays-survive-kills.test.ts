import { expect } from "vitest";
import { until } from "./support/until.ts";
import { createWebhookTarget, sendItems } from "./support/items.ts";
import { answerOk } from "./support/receiver.ts";
import type { ServiceProcess } from "./support/serviceProcess.ts";
import { signUp } from "./support/testNode.ts";
import { stageTest } from "./support/fixtures.ts";
import { untilNothingIsDue } from "./support/storedItems.ts";

const it = stageTest;

const items = 400;
/** Each node twice. When the one that works is killed, what it held waits for fifteen seconds. */
const kills = 4;
/** A batch whose node died is another's after 15 s; one that is slow to start takes as long. */
const limitMs = 120_000;

it("a replay of many makes one event of each, whichever of two nodes is killed in the middle of its work", async ({
  pool,
  receiver,
  start: startWith,
}) => {
  const start = (): Promise<ServiceProcess> => startWith({ POSTRIDER_DELIVERY_TIMEOUT_MS: "2000" });
  const nodes = await Promise.all([start(), start()]);
  const account = await signUp(nodes[0]);
  const key = account.api_key;
  const targets = await Promise.all(
    ["/a", "/b"].map((path) => createWebhookTarget(nodes[0], account, receiver.url + path)),
  );
  const sources: string[] = [];
  for (const { id } of targets) sources.push(...(await sendItems(nodes[0], account, id, items / 2)));
  await untilNothingIsDue(pool);

  const filter = { status: "DELIVERED" };
  const asked = await nodes[0].call("POST", "/api/v1/replays", {
    key,
    body: { filter, rate_per_second: 30 },
  });
  expect(asked).toMatchObject({ status: 202, body: { total: items } });
  const { id } = asked.body;
  const progress = async (): Promise<{ status: string; replayed: number; leased: boolean }> => {
    const { rows } = await pool.query(
      "select status, replayed, lease_token is not null as leased from replays where id = $1",
      [id],
    );
    return rows[0];
  };
  let killedAtWork = 0;
  for (let kill = 0; kill < kills; kill++) {
    const { replayed } = await progress();
    // Somewhere in a batch: as soon as a lease is seen that some node holds, after more was replayed.
    const seen = await until(
      progress,
      (now) => now.status === "DONE" || (now.replayed > replayed && now.leased),
      limitMs,
    );
    if (seen.status === "DONE") break;
    killedAtWork++;
    const index = kill % 2;
    nodes[index]!.kill("SIGKILL");
    await nodes[index]!.ended;
    nodes[index] = await start();
  }
  // Each of the two; on a busy machine the replay may end before the later ones.
  expect(killedAtWork).toBeGreaterThan(1);
  await until(progress, ({ status }) => status === "DONE", limitMs);
  await untilNothingIsDue(pool, limitMs);

  const made = await pool.query<{ source: string; times: number }>(
    "select source_event_id as source, count(*)::int as times from events where replay_id = $1 group by 1",
    [id],
  );
  expect(made.rows.filter(({ times }) => times !== 1)).toEqual([]);
  expect(made.rows.map(({ source }) => source).sort()).toEqual(sources.sort());
  receiver.answer = answerOk;
  const job = await until(
    async () => (await nodes[0].call("GET", `/api/v1/replays/${id}`, { key })).body,
    ({ delivered }) => delivered === items,
    limitMs,
  );
  expect(job).toMatchObject({ total: items, replayed: items, delivered: items, failed: 0, skipped: 0 });
  const arrived = receiver.received.flatMap(({ headers }) => headers["x-source-event-id"] ?? []);
  expect(new Set(arrived)).toEqual(new Set(sources));
}, 300_000);
