import { describe, expect } from "vitest";
import { bucketOf } from "../src/postgres/ids.ts";
import {
  beginHandoff,
  type HandoffRecord,
  noteNothingSent,
  recordHandoff,
} from "../src/handoff/record/handoffStore.ts";
import { claimPolls, firstPollCursor, postponePoll, sweepPolls } from "../src/handoff/follow/pollStore.ts";
import { noChanges } from "../src/items/changes.ts";
import { readSendAnswer, type TaskView } from "../src/handoff/agent/readTask.ts";
import { createAgentTarget } from "./support/agentTargets.ts";
import { sendItem } from "./support/items.ts";
import { createMailbox } from "./support/mailbox.ts";
import { noMask } from "../src/handoff/agent/credentialMask.ts";
import { file, loopbackTargets, sharedNodeTest } from "./support/fixtures.ts";

const it = sharedNodeTest({ ...loopbackTargets, POSTRIDER_ROLES: "api" })
  .extend("mailbox", ({ node, account }) => createMailbox(node, {}, account))
  .extend("targetId", ({ node, account, cards, mailbox }) =>
    createAgentTarget(node, account, cards.url, { result_target_id: mailbox.id }),
  )
  .extend("eventId", ({ node, account, targetId }) => sendItem(node, account, targetId))
  .extend("announced", (): string[] => [])
  .extend("deps", ({ node, announced }) => ({
    pool: node.pool,
    nowMs: Date.now,
    changes: noChanges,
    onDue: () => undefined,
    onMailboxItems: (ids: readonly string[]) => announced.push(...ids),
  }))
  /** Leases the item's delivery, as a claim would. */
  .extend("lease", ({ node, eventId }) => async (leaseToken: number): Promise<void> => {
    await node.pool.query(
      "update deliveries set lease_until = 9e15, lease_token = $3 where bucket = $1 and id = $2",
      [bucketOf(eventId), eventId, leaseToken],
    );
  })
  .extend(
    "record",
    ({ deps, eventId, targetId }) =>
      (fields: Partial<HandoffRecord>): ReturnType<typeof recordHandoff> => {
        const times = { pollInMs: 0, deadlineInMs: 60_000 };
        return recordHandoff(deps, { eventId, targetId, view: null, outcome: null, ...times, ...fields });
      },
  )
  .extend(
    "accept",
    ({ record }) =>
      (view: TaskView): ReturnType<typeof recordHandoff> =>
        record({ isAcceptance: true, view, outcome: view.outcome }),
  )
  .extend(
    "claim",
    file,
    ({ node }) =>
      (leaseToken: number): ReturnType<typeof claimPolls> =>
        claimPolls(node.pool, {
          leaseMs: 60_000,
          leaseToken,
          cursor: firstPollCursor,
          skip: [],
          limit: 100,
          perTarget: 100,
        }),
  );

it.beforeEach(async ({ node }) => {
  await node.pool.query("delete from handoff_polls");
});

function viewOf(state: string, id: string = "t1"): TaskView {
  const task = { id, contextId: "c", status: { state: `TASK_STATE_${state}` } };
  const reading = readSendAnswer({ task }, noMask);
  if (!reading.ok) throw new Error(reading.problem);
  return reading.view;
}

describe("what is about to be sent is known before it is", () => {
  it("and afterwards, until the agent has certainly not taken it", async ({ lease, node, eventId }) => {
    await lease(1);
    expect(await beginHandoff(node.pool, { eventId, rowId: eventId, leaseToken: 1 })).toEqual({
      kind: "send",
    });
    await lease(2);
    const again = await beginHandoff(node.pool, { eventId, rowId: eventId, leaseToken: 2 });
    expect(again).toMatchObject({ kind: "unanswered" });
    await noteNothingSent(node.pool, eventId);
    expect(await beginHandoff(node.pool, { eventId, rowId: eventId, leaseToken: 2 })).toEqual({
      kind: "send",
    });
  });

  it("by whoever holds the lease, and nobody else", async ({ lease, node, eventId }) => {
    await lease(2);
    expect(await beginHandoff(node.pool, { eventId, rowId: eventId, leaseToken: 1 })).toEqual({
      kind: "stale",
    });
    const { rows } = await node.pool.query("select from handoffs where event_id = $1", [eventId]);
    expect(rows).toEqual([]);
  });

  it("and never again once the agent has taken it", async ({ lease, node, eventId, accept, account }) => {
    await lease(1);
    await beginHandoff(node.pool, { eventId, rowId: eventId, leaseToken: 1 });
    expect(await accept(viewOf("WORKING", "first"))).toBe("recorded");
    expect(await accept(viewOf("WORKING", "second"))).toBe("accepted before");
    expect(await beginHandoff(node.pool, { eventId, rowId: eventId, leaseToken: 1 })).toEqual({
      kind: "accepted",
    });
    const { body } = await node.call("GET", `/api/v1/events/${eventId}`, { key: account.api_key });
    expect(body.handoff.task_id).toBe("first");
  });
});

describe("the end of a task", () => {
  it.beforeEach(async ({ lease, node, eventId }) => {
    await lease(1);
    await beginHandoff(node.pool, { eventId, rowId: eventId, leaseToken: 1 });
  });

  it("is stored in a mailbox with its size, by which claims are bounded, as a replay of it is", async ({
    accept,
    record,
    mailbox,
    account,
    node,
  }) => {
    await accept(viewOf("WORKING"));
    const view = viewOf("COMPLETED");
    await record({ view, outcome: view.outcome });
    const [result] = await mailbox.list();
    const key = account.api_key;
    expect((await node.call("POST", `/api/v1/events/${result!.id}/replay`, { key })).status).toBe(202);
    const { rows } = await node.pool.query<{ size: number; bytes: number }>(
      `select m.size, octet_length(e.payload) as bytes
       from messages m
       join events e on e.bucket = m.bucket and e.target_id = m.mailbox_id and e.id = m.id
       where m.mailbox_id = $1`,
      [mailbox.id],
    );
    expect(rows).toHaveLength(2);
    for (const { size, bytes } of rows) expect(size).toBe(bytes);
  });

  it("is written once, and its result stored once, however many see it at the same moment", async ({
    accept,
    record,
    mailbox,
    announced,
  }) => {
    await accept(viewOf("WORKING"));
    const view = viewOf("COMPLETED");
    const seen = await Promise.all(Array.from({ length: 10 }, () => record({ view, outcome: view.outcome })));
    expect(seen.filter((outcome) => outcome === "recorded")).toHaveLength(1);
    expect(seen.filter((outcome) => outcome === "ended before")).toHaveLength(9);
    expect(await mailbox.list()).toHaveLength(1);
    expect(announced).toEqual([mailbox.id]);
    expect(await record({ outcome: "UNKNOWN" })).toBe("ended before");
  });

  it("may come with the acceptance", async ({ accept, mailbox, claim }) => {
    expect(await accept(viewOf("REJECTED"))).toBe("recorded");
    expect(await mailbox.list()).toMatchObject([{ event_type: "handoff.rejected" }]);
    expect((await claim(5)).polls).toEqual([]);
  });

  it("that nobody saw keeps what was seen last", async ({ accept, record, node, eventId, account }) => {
    await accept(viewOf("WORKING"));
    await record({ outcome: "UNKNOWN", followError: "no longer followed" });
    const { body } = await node.call("GET", `/api/v1/events/${eventId}`, { key: account.api_key });
    expect(body.handoff).toMatchObject({ state: "WORKING", outcome: "UNKNOWN", error: "no longer followed" });
  });
});

describe("a look at a task", () => {
  it.beforeEach(async ({ lease, node, eventId, accept }) => {
    await lease(1);
    await beginHandoff(node.pool, { eventId, rowId: eventId, leaseToken: 1 });
    await accept(viewOf("WORKING"));
  });

  it("is leased to one at a time, and changes nothing once its lease has passed on", async ({
    claim,
    eventId,
    node,
    record,
  }) => {
    const { polls } = await claim(7);
    expect(polls).toMatchObject([{ eventId, taskId: "t1", state: "WORKING", polls: 0 }]);
    expect((await claim(8)).polls).toEqual([]);
    await node.pool.query("update handoff_polls set lease_until = 0");
    expect(await sweepPolls(node.pool)).toBe(1);
    expect((await claim(9)).polls).toHaveLength(1);
    const view = viewOf("FAILED");
    expect(await record({ leaseToken: 7, view, outcome: view.outcome })).toBe("stale");
    await postponePoll(node.pool, { eventId, leaseToken: 7 }, { polls: 5, missing: 0, inMs: 0 });
    expect(await record({ leaseToken: 9, view, outcome: view.outcome })).toBe("recorded");
  });

  it("that found nothing new is planned again, and one that did begins afresh", async ({
    claim,
    node,
    record,
  }) => {
    const [poll] = (await claim(1)).polls;
    await postponePoll(node.pool, poll!, { polls: 4, missing: 1, inMs: 0 });
    const [next] = (await claim(2)).polls;
    expect(next).toMatchObject({ polls: 4, missing: 1 });
    await record({ leaseToken: 2, view: viewOf("INPUT_REQUIRED") });
    expect((await claim(3)).polls).toMatchObject([{ polls: 0, missing: 0, state: "INPUT_REQUIRED" }]);
  });

  it("goes around the targets, a few of each, and skips those that have no room", async ({
    node,
    account,
    cards,
    targetId,
  }) => {
    const other = await createAgentTarget(node, account, cards.url);
    for (const target of [targetId, other]) {
      for (let count = 0; count < 3; count++) {
        const id = await sendItem(node, account, target);
        await node.pool.query(
          `insert into handoff_polls (bucket, event_id, target_id, due_at, deadline_at)
           values ($1, $2, $3, 0, 0)`,
          [bucketOf(id), id, target],
        );
      }
    }
    const few = { leaseMs: 60_000, cursor: firstPollCursor, limit: 100, perTarget: 2 };
    const first = await claimPolls(node.pool, { ...few, leaseToken: 1, skip: [] });
    expect(first.polls.filter((poll) => poll.targetId === other)).toHaveLength(2);
    expect(first.polls.filter((poll) => poll.targetId === targetId)).toHaveLength(2);
    expect(first.isCircleClosed).toBe(true);
    const rest = await claimPolls(node.pool, { ...few, leaseToken: 2, skip: [other] });
    expect(new Set(rest.polls.map((poll) => poll.targetId))).toEqual(new Set([targetId]));
  });
});
