import { describe, expect, onTestFinished } from "vitest";
import { acceptedEvents, readEvent, sendItem, sendItems } from "./support/items.ts";
import { noneSkipped, replayJobs } from "./support/replayJobs.ts";
import type { NewTarget } from "./support/organization.ts";
import { sharedStartedNodeTest } from "./support/fixtures.ts";
import { holdRows } from "./support/heldLocks.ts";
import { storeDueItems } from "./support/storedItems.ts";
import { until } from "./support/until.ts";
import { answerOk } from "./support/receiver.ts";
import { aroundNow } from "./support/aroundNow.ts";
import { createMailbox } from "./support/mailbox.ts";

const it = sharedStartedNodeTest().extend("jobs", ({ own, node, receiver }) =>
  replayJobs(own, node, receiver),
);

describe("a replay of many events", () => {
  it("delivers each matching event once more, as a new event that is not billed and names the replay", async ({
    own,
    jobs,
    node,
  }) => {
    const target = await own.newTarget({ max_retries: 0 });
    const failed = await jobs.failedItems(target, 8);
    const fine = await sendItem(node, own.account, target.id);
    await own.settled(fine, "DELIVERED");
    const billed = await acceptedEvents(node, own.account);

    const answer = await jobs.start({ target_id: target.id, status: "FAILED" });
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
    expect(await jobs.ended(id)).toMatchObject({
      total: 8,
      replayed: 8,
      delivered: 8,
      failed: 0,
      skipped: 0,
      skipped_reasons: noneSkipped,
      finished_at: expect.any(Number),
    });
    expect(jobs.sourcesOf(target)).toEqual(failed);
    const made = await jobs.listed(`replay_id=${id}`);
    expect(made).toHaveLength(8);
    const { event } = await readEvent(node, own.account, made[0]!.id);
    expect(event).toMatchObject({ replay_id: id, is_replay: 1, status: "DELIVERED", max_retries: 0 });
    expect(await jobs.listed(`replay_id=${id}&status=FAILED`)).toEqual([]);
    expect(await acceptedEvents(node, own.account)).toBe(billed);
    expect(await jobs.listed(`target_id=${target.id}&status=FAILED`)).toHaveLength(8);
    const stats = (await own.call("GET", `/api/v1/stats?target_id=${target.id}&${aroundNow()}`)).body.totals;
    expect(stats).toMatchObject({ accepted: 17, delivered: 9, failed: 8 });
  });

  it("only counts with dry_run, and replays nothing", async ({ own, jobs }) => {
    const target = await own.newTarget({ max_retries: 0 });
    const failed = await jobs.failedItems(target, 9);
    const { status, body } = await jobs.start({ status: "FAILED" }, { dry_run: true });
    expect([status, body.count, body.count_is_exact]).toEqual([200, 9, true]);
    expect(body.sample).toEqual(failed);
    expect((await own.call("GET", "/api/v1/replays")).body.replays).toEqual([]);
    expect(await jobs.listed(`target_id=${target.id}`)).toHaveLength(9);
  });

  it("of failed events leaves out those with a replay that is in progress or succeeded", async ({
    own,
    jobs,
    receiver,
  }) => {
    const target = await own.newTarget({ max_retries: 0 });
    const [first, second, third] = await jobs.failedItems(target, 3);
    const filter = { target_id: target.id, status: "FAILED" };
    const count = async (more: object = {}): Promise<number> =>
      (await jobs.start(filter, { ...more, dry_run: true })).body.count;
    const replayOne = async (id: string): Promise<string> =>
      (await own.call("POST", `/api/v1/events/${id}/replay`)).body.id;

    await own.settled(await replayOne(first!), "DELIVERED");
    expect(await count()).toBe(2);
    // An event whose replay failed is included once: itself, not its replay.
    receiver.answer = (_received, response) => response.writeHead(500).end();
    const again = await replayOne(second!);
    await own.settled(again, "FAILED");
    expect((await jobs.start(filter, { dry_run: true })).body).toMatchObject({
      count: 2,
      sample: [second, third],
    });
    await own.call("PATCH", `/api/v1/targets/${target.id}`, { enabled: false });
    const held = await replayOne(again);
    expect(await count()).toBe(1);
    expect(await count({ include_replayed: true })).toBe(4);
    receiver.answer = answerOk;
    await own.call("PATCH", `/api/v1/targets/${target.id}`, { enabled: true });
    await own.settled(held, "DELIVERED");

    const id = await jobs.started(filter);
    expect(await jobs.ended(id)).toMatchObject({ total: 1, replayed: 1, include_replayed: false });
    expect(await count()).toBe(0);
    const all = await jobs.started(filter, { include_replayed: true, webhook_id: "new" });
    const job = await jobs.ended(all);
    expect(job).toMatchObject({ include_replayed: true, skipped: 0 });
    expect(job.replayed).toBe(job.total);
    const made = await jobs.listed(`replay_id=${all}`);
    const read = await Promise.all(made.map((one) => own.call("GET", `/api/v1/events/${one.id}`)));
    expect(read.every(({ body }) => body.event.webhook_id === body.event.id)).toBe(true);
  });

  it("combines all parts of a filter, and covers all targets when none is named", async ({
    own,
    jobs,
    node,
  }) => {
    const one = await own.newTarget();
    const other = await own.newTarget();
    const send = async ({ id }: NewTarget, type: string, correlation: string): Promise<string> => {
      const headers = { "x-event-type": type, "x-correlation-id": correlation };
      const sent = await node.call("POST", `/t/${id}`, { key: own.account.api_key, body: {}, headers });
      await own.settled(sent.body.id, "DELIVERED");
      return sent.body.id;
    };
    const wanted = [await send(one, "a", "x"), await send(other, "a", "x")];
    await send(one, "b", "x");
    await send(one, "a", "y");
    const count = async (filter: object): Promise<number> =>
      (await jobs.start(filter, { dry_run: true })).body.count;
    const now = Math.floor(Date.now() / 1000);
    expect(await count({ event_type: "a", correlation_id: "x", status: "DELIVERED" })).toBe(2);
    expect(await count({ event_type: "a", correlation_id: "x", target_id: one.id })).toBe(1);
    expect(await count({ event_type: "a", created_after: now - 600, created_before: now + 600 })).toBe(3);
    expect(await count({ created_after: now + 600 })).toBe(0);
    expect(await count({ created_before: now - 600 })).toBe(0);
    const id = await jobs.started({ event_type: "a", correlation_id: "x" });
    expect(await jobs.ended(id)).toMatchObject({ total: 2, replayed: 2, delivered: 2 });
    expect([...jobs.sourcesOf(one), ...jobs.sourcesOf(other)].sort()).toEqual(wanted.sort());
  });

  it("leaves out waiting events, and reports their number", async ({ own, jobs, node, receiver }) => {
    const target = await own.newTarget({ retry_interval_seconds: 3600 });
    const done = await sendItem(node, own.account, target.id);
    await own.settled(done, "DELIVERED");
    receiver.answer = (_received, response) => response.writeHead(500).end();
    const waiting = await sendItem(node, own.account, target.id);
    await own.settled(waiting, "RETRYING");
    receiver.answer = answerOk;
    const id = await jobs.started({ target_id: target.id });
    expect(await jobs.ended(id)).toMatchObject({
      total: 2,
      replayed: 1,
      delivered: 1,
      skipped: 1,
      skipped_reasons: { ...noneSkipped, still_waiting: 1 },
    });
    expect(jobs.sourcesOf(target)).toEqual([done]);
  });

  it("holds its events for a disabled target, and counts their ends later", async ({ own, jobs, node }) => {
    const target = await own.newTarget();
    const ids = await sendItems(node, own.account, target.id, 8);
    await Promise.all(ids.map((one) => own.settled(one, "DELIVERED")));
    await own.call("PATCH", `/api/v1/targets/${target.id}`, { enabled: false });
    const id = await jobs.started({ target_id: target.id });
    const job = await until(
      () => jobs.read(id),
      ({ status }) => status === "DONE",
    );
    expect(job).toMatchObject({ replayed: 8, delivered: 0, failed: 0 });
    const [made] = await jobs.listed(`replay_id=${id}&order=asc`);
    expect((await own.call("POST", `/api/v1/events/${made!.id}/cancel`)).status).toBe(200);
    const enabled = await own.call("PATCH", `/api/v1/targets/${target.id}`, { enabled: true });
    expect(enabled.body.held_items).toBe(7);
    expect(await jobs.ended(id)).toMatchObject({ delivered: 7, failed: 1 });
  });

  it("of a mailbox creates new messages in the order of the old ones, and none in a disabled mailbox", async ({
    own,
    jobs,
    node,
  }) => {
    const box = await createMailbox(node, {}, own.account);
    for (let n = 0; n < 5; n++) {
      const id = await box.send({ n });
      await box.one(id, "claim");
      await box.one(id, "ack");
    }
    const id = await jobs.started({ target_id: box.id, status: "ACKNOWLEDGED" });
    await until(
      () => jobs.read(id),
      ({ status }) => status === "DONE",
    );
    const { messages } = (await box.post("claim", { max: 10 })).body;
    expect(messages.map(({ payload }: { payload: { n: number } }) => payload.n)).toEqual([0, 1, 2, 3, 4]);
    await box.one(messages[0].id, "ack");
    expect(
      await until(
        () => jobs.read(id),
        ({ delivered }) => delivered === 1,
      ),
    ).toMatchObject({ replayed: 5, failed: 0 });
    await own.call("PATCH", `/api/v1/targets/${box.id}`, { enabled: false });
    const refused = await jobs.started({ target_id: box.id, status: "ACKNOWLEDGED" });
    expect(await jobs.ended(refused)).toMatchObject({
      replayed: 0,
      skipped_reasons: { ...noneSkipped, mailbox_disabled: 6 },
    });
  });

  it("covers the events that had ended when it started, not those that end later", async ({
    own,
    jobs,
    node,
    receiver,
  }) => {
    const target = await own.newTarget({ max_retries: 0 });
    const failed = await jobs.failedItems(target, 5);
    // This event waits for its first attempt when the replay begins, and has failed before the replay reaches it.
    await own.call("PATCH", `/api/v1/targets/${target.id}`, { enabled: false });
    const later = await sendItem(node, own.account, target.id);
    const id = await jobs.started({ target_id: target.id, status: "FAILED" }, { rate_per_second: 1 });
    // The replay makes no progress meanwhile.
    const letGo = await holdRows(node.pool, "replays", { id });
    onTestFinished(letGo);
    receiver.answer = (received, response) =>
      received.id === later ? response.writeHead(500).end() : answerOk(received, response);
    await own.call("PATCH", `/api/v1/targets/${target.id}`, { enabled: true });
    await own.settled(later, "FAILED");
    expect(await jobs.read(id)).toMatchObject({ status: "RUNNING" });
    await letGo();
    expect(await jobs.ended(id)).toMatchObject({ total: 5, replayed: 5, skipped: 0 });
    receiver.answer = answerOk;
    expect(jobs.sourcesOf(target)).toEqual(failed);
  });

  it("skips the remaining events of a target that is deleted meanwhile", async ({ own, jobs, node }) => {
    const target = await own.newTarget();
    const ids = await sendItems(node, own.account, target.id, 4);
    await Promise.all(ids.map((one) => own.settled(one, "DELIVERED")));
    const id = await jobs.started({ target_id: target.id }, { rate_per_second: 1 });
    await until(
      () => jobs.read(id),
      ({ replayed }) => replayed > 0,
    );
    await own.call("DELETE", `/api/v1/targets/${target.id}`);
    const job = await jobs.ended(id);
    expect(job.total).toBe(4);
    expect(job.skipped_reasons).toEqual({ ...noneSkipped, target_deleted: 4 - job.replayed });
  });

  it("of more events than are counted at once says so, and counts the rest while it works", async ({
    own,
    jobs,
    node,
  }) => {
    const target = await own.newTarget();
    await own.call("PATCH", `/api/v1/targets/${target.id}`, { enabled: false });
    const more = 10_500;
    await storeDueItems(node.pool, { orgId: own.account.user.org_id, targetId: target.id, count: more });
    const counted = (await jobs.start({ target_id: target.id }, { dry_run: true })).body;
    expect(counted).toMatchObject({ count: 10_000, count_is_exact: false });
    const answer = await jobs.start({ target_id: target.id });
    expect(answer.body.total).toBeNull();
    const job = await until(
      () => jobs.read(answer.body.id),
      ({ total }) => total !== null,
    );
    expect(job.total).toBe(more);
    expect(await jobs.ended(answer.body.id)).toMatchObject({
      total: more,
      replayed: 0,
      skipped_reasons: { ...noneSkipped, still_waiting: more },
    });
  });

  it("stops when it is canceled; the events replayed by then are delivered", async ({ own, jobs }) => {
    const target = await own.newTarget({ max_retries: 0 });
    await jobs.failedItems(target, 8);
    const id = await jobs.started({ target_id: target.id, status: "FAILED" }, { rate_per_second: 1 });
    await until(
      () => jobs.read(id),
      ({ replayed }) => replayed > 0,
    );
    const canceled = await own.call("POST", `/api/v1/replays/${id}/cancel`);
    expect(canceled).toMatchObject({ status: 200, body: { status: "CANCELED" } });
    const { replayed } = canceled.body;
    expect(replayed).toBeLessThan(8);
    expect((await own.call("POST", `/api/v1/replays/${id}/cancel`)).status).toBe(200);
    const after = await until(
      () => jobs.read(id),
      (job) => job.delivered === replayed,
    );
    expect(after).toMatchObject({ status: "CANCELED", replayed, finished_at: expect.any(Number) });
    expect(jobs.sourcesOf(target)).toHaveLength(replayed);
  });

  it("does not delay new items: a slow target gets no more than it can handle", async ({
    own,
    jobs,
    node,
    receiver,
  }) => {
    const target = await own.newTarget();
    const ids = await sendItems(node, own.account, target.id, 1_500);
    await until(
      () => receiver.at(target.path).length,
      (number) => number === 1_500,
    );
    await Promise.all(ids.slice(-50).map((one) => own.settled(one, "DELIVERED")));
    receiver.answer = (received, response) => setTimeout(() => answerOk(received, response), 100);
    const id = await jobs.started({ target_id: target.id, status: "DELIVERED" });
    const { replayed } = await until(
      () => jobs.read(id),
      (job) => job.replayed >= 300,
    );
    expect(replayed).toBeLessThan(1_400);
    const fresh = await sendItem(node, own.account, target.id);
    const sentBehind = (await jobs.read(id)).replayed;
    const arrived = await until(
      () => receiver.at(target.path).map((one) => one.id),
      (seen) => seen.includes(fresh),
    );
    const replaysBefore = arrived.indexOf(fresh) - 1_500;
    expect(replaysBefore).toBeLessThanOrEqual(sentBehind + 100);
    expect(replaysBefore).toBeLessThan(1_400);
    receiver.answer = answerOk;
    await jobs.ended(id);
  });
});
