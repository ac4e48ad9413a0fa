import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { createTestDatabase, type TestDatabase } from "./support/database.ts";
import { acceptedEvents, createWebhookTarget, readEvent, sendItem, sendItems } from "./support/items.ts";
import { createMailbox } from "./support/mailbox.ts";
import { answerOk, type Receiver, startReceiver } from "./support/receiver.ts";
import { storeDueItems } from "./support/storedItems.ts";
import { type Account, type Answer, createTestNode, signUp, type TestNode } from "./support/testNode.ts";
import { until } from "./support/until.ts";

let database: TestDatabase;
let receiver: Receiver;
let node: TestNode;
let account: Account;

beforeAll(async () => {
  database = await createTestDatabase();
  receiver = await startReceiver();
  node = createTestNode(database, {
    POSTRIDER_ALLOW_HTTP_TARGETS: "true",
    POSTRIDER_ALLOWED_NETWORKS: "127.0.0.0/8",
  });
  node.service.start();
});

afterAll(async () => {
  await node?.stop();
  await receiver?.stop();
  await database?.drop();
});

function call(method: "GET" | "POST" | "PATCH" | "DELETE", path: string, body?: unknown): Promise<Answer> {
  return node.call(method, path, { key: account.api_key, ...(body !== undefined && { body }) });
}

function start(filter: object, more: object = {}): Promise<Answer> {
  return call("POST", "/api/v1/replays", { filter, rate_per_second: 1000, ...more });
}

async function started(filter: object, more: object = {}): Promise<string> {
  const answer = await start(filter, more);
  expect(answer.status).toBe(202);
  return answer.body.id;
}

async function read(id: string): Promise<Answer["body"]> {
  return (await call("GET", `/api/v1/replays/${id}`)).body;
}

/** When everything was replayed, and what was replayed has ended. */
function ended(id: string): Promise<Answer["body"]> {
  return until(
    () => read(id),
    (job) => job.status === "DONE" && job.delivered + job.failed === job.replayed,
  );
}

/** A range of statistics that no full minute ends. */
function aroundNow(): string {
  const now = Math.floor(Date.now() / 1000);
  return `from=${now - 3600}&to=${now + 3600}`;
}

let count = 0;

interface Target {
  id: string;
  path: string;
}

async function newTarget(fields: Record<string, unknown> = {}): Promise<Target> {
  account = await signUp(node);
  return anotherTarget(fields);
}

async function anotherTarget(fields: Record<string, unknown> = {}): Promise<Target> {
  const path = `/replays-${++count}`;
  return { ...(await createWebhookTarget(node, account, receiver.url + path, fields)), path };
}

function settled(id: string, status: string): Promise<unknown> {
  return until(
    () => readEvent(node, account, id),
    ({ event }) => event.status === status,
  );
}

/** Items of the target that have failed for good: less than ten, which would open its circuit. */
async function failedItems({ id }: Target, number: number): Promise<string[]> {
  receiver.answer = (_received, response) => response.writeHead(500).end();
  const ids = await sendItems(node, account, id, number);
  await Promise.all(ids.map((one) => settled(one, "FAILED")));
  receiver.answer = answerOk;
  return ids.sort();
}

async function listed(query: string): Promise<{ id: string; status: string }[]> {
  return (await call("GET", `/api/v1/events?limit=100&${query}`)).body.events;
}

function sourcesOf({ path }: Target): string[] {
  return receiver.received
    .filter((one) => one.path === path)
    .flatMap(({ headers }) => headers["x-source-event-id"] ?? [])
    .map(String)
    .sort();
}

const zero = { still_waiting: 0, target_deleted: 0, mailbox_disabled: 0, expired: 0 };

describe("a replay of many events", () => {
  it("delivers each that fits once more, as a new event that is not billed and names the replay", async () => {
    const target = await newTarget({ max_retries: 0 });
    const failed = await failedItems(target, 8);
    const fine = await sendItem(node, account, target.id);
    await settled(fine, "DELIVERED");
    const billed = await acceptedEvents(node, account);

    const answer = await start({ target_id: target.id, status: "FAILED" });
    expect(answer).toMatchObject({
      status: 202,
      body: {
        status: "RUNNING",
        filter: { target_id: target.id, status: "FAILED" },
        rate_per_second: 1000,
        total: 8,
        created_by: expect.stringContaining("ak_live_"),
      },
    });
    const { id } = answer.body;
    expect(await ended(id)).toMatchObject({
      total: 8,
      replayed: 8,
      delivered: 8,
      failed: 0,
      skipped: 0,
      skipped_reasons: zero,
      finished_at: expect.any(Number),
    });
    expect(sourcesOf(target)).toEqual(failed);
    const made = await listed(`replay_id=${id}`);
    expect(made).toHaveLength(8);
    const { event } = await readEvent(node, account, made[0]!.id);
    expect(event).toMatchObject({ replay_id: id, is_replay: 1, status: "DELIVERED", max_retries: 0 });
    expect(await listed(`replay_id=${id}&status=FAILED`)).toEqual([]);
    expect(await acceptedEvents(node, account)).toBe(billed);
    expect(await listed(`target_id=${target.id}&status=FAILED`)).toHaveLength(8);
    const stats = (await call("GET", `/api/v1/stats?target_id=${target.id}&${aroundNow()}`)).body.totals;
    expect(stats).toMatchObject({ accepted: 17, delivered: 9, failed: 8 });
  });

  it("only counts when it is asked to, and replays nothing", async () => {
    const target = await newTarget({ max_retries: 0 });
    const failed = await failedItems(target, 9);
    const { status, body } = await start({ status: "FAILED" }, { dry_run: true });
    expect([status, body.count, body.count_is_exact]).toEqual([200, 9, true]);
    expect(body.sample).toEqual(failed);
    expect((await call("GET", "/api/v1/replays")).body.replays).toEqual([]);
    expect(await listed(`target_id=${target.id}`)).toHaveLength(9);
  });

  it("takes all parts of a filter together, of all targets where none is named", async () => {
    const one = await newTarget();
    const other = await anotherTarget();
    const send = async ({ id }: Target, type: string, correlation: string): Promise<string> => {
      const headers = { "x-event-type": type, "x-correlation-id": correlation };
      const sent = await node.call("POST", `/t/${id}`, { key: account.api_key, body: {}, headers });
      await settled(sent.body.id, "DELIVERED");
      return sent.body.id;
    };
    const wanted = [await send(one, "a", "x"), await send(other, "a", "x")];
    await send(one, "b", "x");
    await send(one, "a", "y");
    const count = async (filter: object): Promise<number> =>
      (await start(filter, { dry_run: true })).body.count;
    const now = Math.floor(Date.now() / 1000);
    expect(await count({ event_type: "a", correlation_id: "x", status: "DELIVERED" })).toBe(2);
    expect(await count({ event_type: "a", correlation_id: "x", target_id: one.id })).toBe(1);
    expect(await count({ event_type: "a", created_after: now - 600, created_before: now + 600 })).toBe(3);
    expect(await count({ created_after: now + 600 })).toBe(0);
    expect(await count({ created_before: now - 600 })).toBe(0);
    const id = await started({ event_type: "a", correlation_id: "x" });
    expect(await ended(id)).toMatchObject({ total: 2, replayed: 2, delivered: 2 });
    expect([...sourcesOf(one), ...sourcesOf(other)].sort()).toEqual(wanted.sort());
  });

  it("leaves out what waits, and says so", async () => {
    const target = await newTarget({ retry_interval_seconds: 3600 });
    const done = await sendItem(node, account, target.id);
    await settled(done, "DELIVERED");
    receiver.answer = (_received, response) => response.writeHead(500).end();
    const waiting = await sendItem(node, account, target.id);
    await settled(waiting, "RETRYING");
    receiver.answer = answerOk;
    const id = await started({ target_id: target.id });
    expect(await ended(id)).toMatchObject({
      total: 2,
      replayed: 1,
      delivered: 1,
      skipped: 1,
      skipped_reasons: { ...zero, still_waiting: 1 },
    });
    expect(sourcesOf(target)).toEqual([done]);
  });

  it("holds what it makes for a disabled target, and counts the ends that come later", async () => {
    const target = await newTarget();
    const ids = await sendItems(node, account, target.id, 8);
    await Promise.all(ids.map((one) => settled(one, "DELIVERED")));
    await call("PATCH", `/api/v1/targets/${target.id}`, { enabled: false });
    const id = await started({ target_id: target.id });
    const job = await until(
      () => read(id),
      ({ status }) => status === "DONE",
    );
    expect(job).toMatchObject({ replayed: 8, delivered: 0, failed: 0 });
    const [made] = await listed(`replay_id=${id}&order=asc`);
    expect((await call("POST", `/api/v1/events/${made!.id}/cancel`)).status).toBe(200);
    const enabled = await call("PATCH", `/api/v1/targets/${target.id}`, { enabled: true });
    expect(enabled.body.held_items).toBe(7);
    expect(await ended(id)).toMatchObject({ delivered: 7, failed: 1 });
  });

  it("of a mailbox makes new messages, in the order of the old ones; a disabled one takes none", async () => {
    account = await signUp(node);
    const box = await createMailbox(node, {}, account);
    for (let n = 0; n < 5; n++) {
      const id = await box.send({ n });
      await box.one(id, "claim");
      await box.one(id, "ack");
    }
    const id = await started({ target_id: box.id, status: "ACKNOWLEDGED" });
    await until(
      () => read(id),
      ({ status }) => status === "DONE",
    );
    const { messages } = (await box.post("claim", { max: 10 })).body;
    expect(messages.map(({ payload }: { payload: { n: number } }) => payload.n)).toEqual([0, 1, 2, 3, 4]);
    await box.one(messages[0].id, "ack");
    expect(
      await until(
        () => read(id),
        ({ delivered }) => delivered === 1,
      ),
    ).toMatchObject({ replayed: 5, failed: 0 });
    await call("PATCH", `/api/v1/targets/${box.id}`, { enabled: false });
    const refused = await started({ target_id: box.id, status: "ACKNOWLEDGED" });
    expect(await ended(refused)).toMatchObject({
      replayed: 0,
      skipped_reasons: { ...zero, mailbox_disabled: 6 },
    });
  });

  it("is of what had ended when it was started: what ends later does not join", async () => {
    const target = await newTarget({ max_retries: 0 });
    const failed = await failedItems(target, 5);
    // Waits for its first attempt when the replay begins, and has failed before the replay comes to it.
    await call("PATCH", `/api/v1/targets/${target.id}`, { enabled: false });
    const later = await sendItem(node, account, target.id);
    const id = await started({ target_id: target.id, status: "FAILED" }, { rate_per_second: 1 });
    receiver.answer = (received, response) =>
      received.id === later ? response.writeHead(500).end() : answerOk(received, response);
    await call("PATCH", `/api/v1/targets/${target.id}`, { enabled: true });
    await settled(later, "FAILED");
    expect(await read(id)).toMatchObject({ status: "RUNNING" });
    expect(await ended(id)).toMatchObject({ total: 5, replayed: 5, skipped: 0 });
    receiver.answer = answerOk;
    expect(sourcesOf(target)).toEqual(failed);
  });

  it("skips what is left of a target that is deleted meanwhile", async () => {
    const target = await newTarget();
    const ids = await sendItems(node, account, target.id, 4);
    await Promise.all(ids.map((one) => settled(one, "DELIVERED")));
    const id = await started({ target_id: target.id }, { rate_per_second: 1 });
    await until(
      () => read(id),
      ({ replayed }) => replayed > 0,
    );
    await call("DELETE", `/api/v1/targets/${target.id}`);
    const job = await ended(id);
    expect(job.total).toBe(4);
    expect(job.skipped_reasons).toEqual({ ...zero, target_deleted: 4 - job.replayed });
  });

  it("of more than is counted at once says so, and counts the rest while it works", async () => {
    const target = await newTarget();
    await call("PATCH", `/api/v1/targets/${target.id}`, { enabled: false });
    const more = 10_500;
    await storeDueItems(node.pool, { orgId: account.user.org_id, targetId: target.id, count: more });
    const counted = (await start({ target_id: target.id }, { dry_run: true })).body;
    expect(counted).toMatchObject({ count: 10_000, count_is_exact: false });
    const answer = await start({ target_id: target.id });
    expect(answer.body.total).toBeNull();
    const job = await until(
      () => read(answer.body.id),
      ({ total }) => total !== null,
    );
    expect(job.total).toBe(more);
    expect(await ended(answer.body.id)).toMatchObject({
      total: more,
      replayed: 0,
      skipped_reasons: { ...zero, still_waiting: more },
    });
  });

  it("ends where it is canceled; what was replayed is delivered", async () => {
    const target = await newTarget({ max_retries: 0 });
    await failedItems(target, 8);
    const id = await started({ target_id: target.id, status: "FAILED" }, { rate_per_second: 1 });
    await until(
      () => read(id),
      ({ replayed }) => replayed > 0,
    );
    const canceled = await call("POST", `/api/v1/replays/${id}/cancel`);
    expect(canceled).toMatchObject({ status: 200, body: { status: "CANCELED" } });
    const { replayed } = canceled.body;
    expect(replayed).toBeLessThan(8);
    expect((await call("POST", `/api/v1/replays/${id}/cancel`)).status).toBe(200);
    const after = await until(
      () => read(id),
      (job) => job.delivered === replayed,
    );
    expect(after).toMatchObject({ status: "CANCELED", replayed, finished_at: expect.any(Number) });
    expect(sourcesOf(target)).toHaveLength(replayed);
  });

  it("lets new items pass: a slow target gets no more than it can take", async () => {
    const target = await newTarget();
    const ids = await sendItems(node, account, target.id, 1_500);
    await until(
      () => receiver.received.filter(({ path }) => path === target.path).length,
      (number) => number === 1_500,
    );
    await Promise.all(ids.slice(-50).map((one) => settled(one, "DELIVERED")));
    receiver.answer = (received, response) => setTimeout(() => answerOk(received, response), 100);
    const id = await started({ target_id: target.id, status: "DELIVERED" });
    const { replayed } = await until(
      () => read(id),
      (job) => job.replayed >= 300,
    );
    expect(replayed).toBeLessThan(1_400);
    const fresh = await sendItem(node, account, target.id);
    const sentBehind = (await read(id)).replayed;
    const arrived = await until(
      () => receiver.received.filter(({ path }) => path === target.path).map((one) => one.id),
      (seen) => seen.includes(fresh),
    );
    const replaysBefore = arrived.indexOf(fresh) - 1_500;
    expect(replaysBefore).toBeLessThanOrEqual(sentBehind + 100);
    expect(replaysBefore).toBeLessThan(1_400);
    receiver.answer = answerOk;
    await ended(id);
  });
});

describe("replays of many events", () => {
  it("are listed newest first, page by page, to their owner alone", async () => {
    const target = await newTarget();
    const ids: string[] = [];
    for (let n = 0; n < 5; n++) {
      ids.unshift(await started({ target_id: target.id }));
      await ended(ids[0]!);
    }
    const page = async (query: string): Promise<string[]> =>
      (await call("GET", `/api/v1/replays?${query}`)).body.replays.map(({ id }: { id: string }) => id);
    expect(await page("")).toEqual(ids);
    expect(await page("limit=2")).toEqual(ids.slice(0, 2));
    expect(await page(`limit=2&before=${ids[1]}`)).toEqual(ids.slice(2, 4));
    account = await signUp(node);
    expect(await page("")).toEqual([]);
    expect((await call("GET", `/api/v1/replays/${ids[0]}`)).status).toBe(404);
    expect((await call("POST", `/api/v1/replays/${ids[0]}/cancel`)).status).toBe(404);
    expect((await start({ target_id: target.id })).status).toBe(404);
  });

  it("that are done are not canceled: 409", async () => {
    const target = await newTarget();
    const id = await started({ target_id: target.id });
    await ended(id);
    const { status, headers } = await call("POST", `/api/v1/replays/${id}/cancel`);
    expect([status, headers["x-error-code"]]).toEqual([409, "replay_ended"]);
  });

  it("run five at a time: one more is 409", async () => {
    const target = await newTarget();
    const ids = await sendItems(node, account, target.id, 3);
    await Promise.all(ids.map((one) => settled(one, "DELIVERED")));
    const slow = { rate_per_second: 1 };
    const answers = await Promise.all(
      Array.from({ length: 8 }, () => start({ target_id: target.id, status: "DELIVERED" }, slow)),
    );
    expect(answers.filter(({ status }) => status === 202)).toHaveLength(5);
    const refused = answers.filter(({ status }) => status === 409);
    expect(refused.map(({ headers }) => headers["x-error-code"])).toEqual(Array(3).fill("too_many_replays"));
    for (const { body, status } of answers) {
      if (status === 202) await call("POST", `/api/v1/replays/${body.id}/cancel`);
    }
  });

  it.each([
    [{ filter: { status: "QUEUED" } }, "filter.status must be one of DELIVERED, FAILED"],
    [{ filter: { status: "UNREAD" } }, "filter.status must be one of"],
    [{ filter: { target: "x" } }, "is no part of a replay's filter: it takes target_id"],
    [{ filter: { target_ids: "x" } }, "did you mean target_id?"],
    [{ filter: { target_id: "x" } }, "filter.target_id does not have the accepted form"],
    [{ filter: {}, rate_per_second: 0 }, "rate_per_second must be at least 1"],
    [{ filter: {}, rate_per_second: 1001 }, "rate_per_second must be at most 1000"],
    [{ filter: {}, rate_per_second: 1.5 }, "rate_per_second must be an integer"],
    [{ filter: {}, dry_run: "yes" }, "dry_run must be a boolean"],
    [{}, "filter is required"],
  ])("of %j are refused: 400", async (body, message) => {
    const answer = await call("POST", "/api/v1/replays", body);
    expect(answer).toMatchObject({ status: 400, body: { error: expect.stringContaining(message) } });
  });
});
