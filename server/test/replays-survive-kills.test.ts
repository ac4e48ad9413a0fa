import { expect } from "vitest";
import { until } from "./support/until.ts";
import { createWebhookTarget, sendItems } from "./support/items.ts";
import { answerOk } from "./support/receiver.ts";
import { signUp } from "./support/testNode.ts";
import { stageTest } from "./support/fixtures.ts";
import { untilNothingIsDue } from "./support/storedItems.ts";

const it = stageTest;

const items = 200;
const kills = 2;
const limitMs = 60_000;
const settings = { POSTRIDER_DELIVERY_TIMEOUT_MS: "2000" };

it("a replay of many makes one event of each, whichever node is killed in the middle of its work", async ({
  pool,
  receiver,
  start,
}) => {
  // One at a time works on replays, so that whoever is killed is at work; the other sends what is there.
  const [sender, first] = await Promise.all([
    start({ ...settings, POSTRIDER_ROLES: "api,dispatcher" }),
    start(settings),
  ]);
  let worker = first;
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
  const progress = async (): Promise<{ status: string; replayed: number; leased: boolean }> => {
    const { rows } = await pool.query(
      "select status, replayed, lease_token is not null as leased from replays where id = $1",
      [id],
    );
    return rows[0];
  };
  /** Resolves in the middle of a batch, after more was replayed: looks without a pause, for a batch takes milliseconds. */
  const untilAtWork = async (): Promise<void> => {
    const { replayed } = await progress();
    const deadline = Date.now() + limitMs;
    for (;;) {
      const now = await progress();
      if (now.leased && now.replayed > replayed) return;
      if (now.status === "DONE" || Date.now() > deadline)
        throw new Error(`never at work: ${JSON.stringify(now)}`);
    }
  };
  const killWorker = async (): Promise<void> => {
    worker.kill("SIGKILL");
    await worker.ended;
  };
  const restartWorker = async (): Promise<void> => {
    // End the killed worker's lease now, instead of waiting for its end in fifteen seconds.
    await pool.query("update replays set lease_until = 0 where id = $1 and lease_until is not null", [id]);
    worker = await start(settings);
  };
  for (let kill = 0; kill < kills; kill++) {
    await untilAtWork();
    await killWorker();
    await restartWorker();
  }
  // Between a cursor and its events: these wait for a lock of their target's row.
  const holder = await pool.connect();
  await holder.query("begin");
  await holder.query("select from targets where id = any ($1) for update", [
    targets.map((target) => target.id),
  ]);
  const { rows: own } = await holder.query<{ pid: number }>("select pg_backend_pid() as pid");
  const waiting = await until(async () => {
    const { rows } = await pool.query<{ pid: number }>(
      "select pid from pg_stat_activity where $1 = any (pg_blocking_pids(pid)) and query ~ 'advance_replay'",
      [own[0]!.pid],
    );
    return rows[0];
  });
  await killWorker();
  // Its session would notice only once it has the lock.
  await pool.query("select pg_terminate_backend($1)", [waiting!.pid]);
  await holder.query("rollback");
  holder.release();
  await restartWorker();
  await until(progress, ({ status }) => status === "DONE", limitMs);
  await untilNothingIsDue(pool, limitMs);

  const made = await pool.query<{ source: string; times: number }>(
    "select source_event_id as source, count(*)::int as times from events where replay_id = $1 group by 1",
    [id],
  );
  expect(
    made.rows.filter(({ times }) => times !== 1),
    "sources with several copies",
  ).toEqual([]);
  expect(made.rows.map(({ source }) => source).sort(), "sources with a copy").toEqual(sources.sort());
  receiver.answer = answerOk;
  const job = await until(
    async () => (await sender.call("GET", `/api/v1/replays/${id}`, { key })).body,
    ({ delivered }) => delivered === items,
    limitMs,
  );
  expect(job).toMatchObject({ total: items, replayed: items, delivered: items, failed: 0, skipped: 0 });
  const arrived = receiver.received.flatMap(({ headers }) => headers["x-source-event-id"] ?? []);
  expect(new Set(arrived)).toEqual(new Set(sources));
});
