import { describe, expect } from "vitest";
import { bucketOf, newRootId } from "../src/postgres/ids.ts";
import {
  beginHandoff,
  type HandoffRecord,
  noteNothingSent,
  recordHandoff,
} from "../src/handoff/record/handoffStore.ts";
import { followTask } from "../src/handoff/follow/followTask.ts";
import {
  claimPolls,
  firstPollCursor,
  hastenPoll,
  postponePoll,
  sweepPolls,
} from "../src/handoff/follow/pollStore.ts";
import {
  addDuePolls,
  addFollowed,
  createFollower,
  createLocalOutbound,
  startEqualAgent,
} from "./support/followedTasks.ts";
import { noChanges } from "./support/idleSink.ts";
import { readSendAnswer, type TaskView } from "../src/handoff/agent/readTask.ts";
import { createAgentTarget, readHandedOver } from "./support/agentTargets.ts";
import { sendItem } from "./support/items.ts";
import { createMailbox } from "./support/mailbox.ts";
import { noMask } from "../src/handoff/agent/agent.ts";
import { loopbackTargets, sharedNodeTest } from "./support/fixtures.ts";
import type { Account, TestNode } from "./support/testNode.ts";
import { countRows } from "./support/unseenRows.ts";
import { until } from "./support/until.ts";

const it = sharedNodeTest({ ...loopbackTargets, POSTRIDER_ROLES: "api" }).extend(
  "handoff",
  ({ node, account, cards }) => acceptHandoff(node, account, cards.url),
);

/** An item for an agent whose results go to a mailbox, and the steps of a process that handles it. */
async function acceptHandoff(node: TestNode, account: Account, cardUrl: string) {
  const { pool } = node;
  const mailbox = await createMailbox(node, {}, account);
  const targetId = await createAgentTarget(node, account, cardUrl, { result_target_id: mailbox.id });
  const eventId = await sendItem(node, account, targetId);
  /** Mailboxes for which a result was announced. */
  const announced: string[] = [];
  const deps = {
    pool,
    direct: pool,
    nowMs: Date.now,
    changes: noChanges,
    onDue: () => undefined,
    onMailboxItems: (ids: readonly string[]) => announced.push(...ids),
    quietMs: 60_000,
  };
  const begin = (leaseToken: number) => beginHandoff(pool, { eventId, rowId: eventId, leaseToken });
  const record = async (fields: Partial<HandoffRecord>) => {
    const outcome = await recordHandoff(deps, { eventId, targetId, view: null, ...fields });
    await hastenPoll(pool, eventId);
    return outcome;
  };
  return {
    mailbox,
    targetId,
    eventId,
    announced,
    deps,
    /** Leases the item's delivery, as a claim would. */
    async lease(leaseToken: number): Promise<void> {
      await pool.query(
        "update deliveries set lease_until = 9e15, lease_token = $3 where bucket = $1 and id = $2",
        [bucketOf(eventId), eventId, leaseToken],
      );
    },
    begin,
    record,
    accept: (view: TaskView) => record({ isAcceptance: true, view }),
    read: async () => (await readHandedOver(node, account, eventId)).handoff,
  };
}

function claim(
  { pool }: Pick<TestNode, "pool">,
  leaseToken: number,
  limit = 100,
): ReturnType<typeof claimPolls> {
  const limits = { leaseMs: 60_000, limit, perTarget: 100 };
  return claimPolls(pool, { ...limits, leaseToken, cursor: firstPollCursor, skip: [] });
}

it.beforeEach(async ({ node }) => {
  await node.pool.query("delete from handoff_polls");
});

function viewOf(state: string, id: string = "t1"): TaskView {
  const task = { id, contextId: "c", status: { state: `TASK_STATE_${state}` } };
  const reading = readSendAnswer({ task }, noMask);
  if (!reading.ok) throw new Error(reading.problem);
  return reading.view;
}

describe("a send is recorded before the message is sent", () => {
  it("and stays recorded until the agent has certainly not accepted it", async ({ handoff, node }) => {
    await handoff.lease(1);
    expect(await handoff.begin(1)).toEqual({ kind: "send" });
    await handoff.lease(2);
    const again = await handoff.begin(2);
    expect(again).toMatchObject({ kind: "unanswered" });
    const delivery = { rowId: handoff.eventId, eventId: handoff.eventId };
    await noteNothingSent(node.pool, { ...delivery, leaseToken: 1 });
    expect(await handoff.begin(2)).toEqual(again);
    await noteNothingSent(node.pool, { ...delivery, leaseToken: 2 });
    expect(await handoff.begin(2)).toEqual({ kind: "send" });
  });

  it("only by the holder of the lease", async ({ handoff }) => {
    await handoff.lease(2);
    expect(await handoff.begin(1)).toEqual({ kind: "stale" });
    expect(await handoff.read()).toBeNull();
  });

  it("and never again once the agent has accepted it", async ({ handoff }) => {
    await handoff.lease(1);
    await handoff.begin(1);
    expect(await handoff.accept(viewOf("WORKING", "first"))).toBe("recorded");
    expect(await handoff.accept(viewOf("COMPLETED", "first"))).toBe("accepted before");
    expect(await handoff.read()).toMatchObject({ possible_duplicate: false });
    expect(await handoff.accept(viewOf("WORKING", "second"))).toBe("accepted before");
    expect(await handoff.begin(1)).toEqual({ kind: "accepted" });
    expect(await handoff.read()).toMatchObject({ task_id: "first", possible_duplicate: true });
  });
});

describe("the end of a task", () => {
  it.beforeEach(async ({ handoff }) => {
    await handoff.lease(1);
    await handoff.begin(1);
  });

  it("is stored in a mailbox with its size, which bounds claims, and so is a replay of it", async ({
    handoff,
    account,
    node,
  }) => {
    await handoff.accept(viewOf("WORKING"));
    const view = viewOf("COMPLETED");
    await handoff.record({ view });
    const [result] = await handoff.mailbox.list();
    const key = account.api_key;
    expect((await node.call("POST", `/api/v1/events/${result!.id}/replay`, { key })).status).toBe(202);
    const { rows } = await node.pool.query<{ size: number; bytes: number }>(
      `select m.size, octet_length(e.payload) as bytes
       from messages m
       join events e on e.bucket = m.bucket and e.target_id = m.mailbox_id and e.id = m.id
       where m.mailbox_id = $1`,
      [handoff.mailbox.id],
    );
    expect(rows).toHaveLength(2);
    for (const { size, bytes } of rows) expect(size).toBe(bytes);
  });

  it("is stored once, and its result once, however many processes see it simultaneously", async ({
    handoff,
  }) => {
    await handoff.accept(viewOf("WORKING"));
    const view = viewOf("COMPLETED");
    const seen = await Promise.all(Array.from({ length: 10 }, () => handoff.record({ view })));
    expect(seen.filter((outcome) => outcome === "recorded")).toHaveLength(1);
    expect(seen.filter((outcome) => outcome === "ended before")).toHaveLength(9);
    expect(await handoff.mailbox.list()).toHaveLength(1);
    expect(handoff.announced).toEqual([handoff.mailbox.id]);
    expect(await handoff.record({ followError: "no longer followed" })).toBe("ended before");
  });

  it("may arrive in the answer to the message", async ({ handoff, node }) => {
    expect(await handoff.accept(viewOf("REJECTED"))).toBe("recorded");
    expect(await handoff.mailbox.list()).toMatchObject([{ event_type: "handoff.rejected" }]);
    expect((await claim(node, 5)).polls).toEqual([]);
  });

  it("that was never seen leaves the last state that was seen", async ({ handoff }) => {
    await handoff.accept(viewOf("WORKING"));
    await handoff.record({ followError: "no longer followed" });
    expect(await handoff.read()).toMatchObject({
      state: "WORKING",
      outcome: "UNKNOWN",
      error: "no longer followed",
    });
  });
});

describe("a poll of a task", () => {
  it.beforeEach(async ({ handoff }) => {
    await handoff.lease(1);
    await handoff.begin(1);
    await handoff.accept(viewOf("WORKING"));
  });

  it("is leased to one process at a time, and changes nothing once its lease has passed to another", async ({
    handoff,
    node,
  }) => {
    const { polls } = await claim(node, 7);
    expect(polls).toMatchObject([{ eventId: handoff.eventId, taskId: "t1", state: "WORKING", polls: 0 }]);
    expect((await claim(node, 8)).polls).toEqual([]);
    await node.pool.query("update handoff_polls set lease_until = 0");
    expect(await sweepPolls(node.pool)).toBe(1);
    expect((await claim(node, 9)).polls).toHaveLength(1);
    const view = viewOf("FAILED");
    expect(await handoff.record({ leaseToken: 7, view })).toBe("stale");
    await postponePoll(
      node.pool,
      { eventId: handoff.eventId, leaseToken: 7 },
      { polls: 5, missing: 0, inMs: 0 },
    );
    expect(await handoff.record({ leaseToken: 9, view })).toBe("recorded");
  });

  it("that fails with a database error is scheduled again before its lease lapses", async ({
    handoff,
    node,
  }) => {
    const looked = Promise.withResolvers<void>();
    const { follower, outbound } = createFollower(handoff.deps, () => {
      looked.resolve();
      return Promise.reject(new Error("the connection was lost"));
    });
    follower.start();
    await looked.promise;
    await follower.stop();
    outbound.close();
    const { rows } = await node.pool.query("select lease_until, lease_token, polls from handoff_polls");
    expect(rows).toEqual([{ lease_until: null, lease_token: null, polls: 0 }]);
  });

  it("follows another one of the same agent without a pause", async ({ handoff, node }) => {
    await node.pool.query("delete from handoff_polls");
    await addDuePolls(node.pool, handoff.targetId, 200);
    const { follower, outbound } = createFollower(handoff.deps, () => Promise.resolve(undefined));
    follower.start();
    // With a pause of five seconds after each claim this would take minutes.
    await until(async () => (await countRows(node.pool, "handoff_polls")) === 0);
    await follower.stop();
    outbound.close();
  });

  it("rests between claims while nothing is due, also with more targets than one claim visits", async ({
    handoff,
    node: { pool },
  }) => {
    for (let targets = 0; targets < 250; targets++) await addDuePolls(pool, newRootId(Date.now()), 1);
    await pool.query("update handoff_polls set due_at = 9e15");
    const { follower, outbound, claims } = createFollower(handoff.deps, () => Promise.resolve(undefined));
    follower.start();
    for (let own = 0; own < 200; own++) await claim({ pool }, 1);
    await follower.stop();
    outbound.close();
    expect(claims()).toBeLessThan(100);
  });

  it("does not wait for tasks of the same agent that cannot be read", async ({ handoff, node }) => {
    const { agent, server } = await startEqualAgent(handoff.targetId, (response) => response.end("{}"));
    for (let count = 0; count < 20; count++) {
      await addFollowed(node.pool, handoff.targetId, handoff.eventId);
    }
    const { follower, outbound, looks } = createFollower(handoff.deps, () => Promise.resolve(agent));
    follower.start();
    // A pause after each one, of up to 30 seconds, would take minutes.
    await until(() => looks.length >= 20);
    await follower.stop();
    outbound.close();
    server.close();
    expect(new Set(looks)).toEqual(new Set(["unreadable"]));
  });

  it("does not wait for agents that do not answer, however many they are", async ({
    handoff,
    node,
    account,
    cards,
  }) => {
    const count = 70;
    const newTarget = () => createAgentTarget(node, account, cards.url);
    const targetIds = await Promise.all(Array.from({ length: count }, newTarget));
    await node.pool.query("delete from handoff_polls");
    for (const targetId of targetIds) await addFollowed(node.pool, targetId, handoff.eventId);
    const silence = Promise.withResolvers<undefined>();
    let waiting = 0;
    const { follower, outbound, looks } = createFollower(handoff.deps, () => {
      if (looks.length < count) return Promise.resolve(undefined);
      waiting++;
      return silence.promise;
    });
    follower.start();
    await until(() => waiting > 0);
    await addDuePolls(node.pool, handoff.targetId, 1);
    await until(() => looks.includes("dropped"));
    silence.resolve(undefined);
    await follower.stop();
    outbound.close();
  });

  it("is repeated at once when the agent notifies of a change while it is in progress", async ({
    node,
    handoff,
  }) => {
    const next = { polls: 1, missing: 0, inMs: 60_000 };
    const [first] = (await claim(node, 7)).polls;
    expect(await hastenPoll(node.pool, handoff.eventId)).toBe(true);
    expect((await claim(node, 8)).polls).toEqual([]);
    await postponePoll(node.pool, first!, next);
    const [second] = (await claim(node, 8)).polls;
    await postponePoll(node.pool, second!, next);
    expect((await claim(node, 9)).polls).toEqual([]);
  });

  it("that finds a change is also repeated at once when the agent notifies of another meanwhile", async ({
    node,
    handoff,
  }) => {
    await claim(node, 7);
    expect(await hastenPoll(node.pool, handoff.eventId)).toBe(true);
    const { deps, eventId, targetId } = handoff;
    const found = { eventId, targetId, leaseToken: 7, view: viewOf("INPUT_REQUIRED") };
    expect(await recordHandoff(deps, found)).toBe("recorded");
    expect((await claim(node, 8)).polls).toHaveLength(1);
  });

  it("comes before all others of its agent when the agent notifies of a change", async ({
    node,
    handoff,
  }) => {
    await addDuePolls(node.pool, handoff.targetId, 3);
    await hastenPoll(node.pool, handoff.eventId);
    const { polls } = await claim(node, 7, 1);
    expect(polls).toMatchObject([{ eventId: handoff.eventId }]);
  });

  it("can be scheduled further ahead than 32 bits of milliseconds", async ({ node, handoff }) => {
    const [poll] = (await claim(node, 7)).polls;
    await postponePoll(node.pool, poll!, { polls: 1, missing: 0, inMs: 3_000_000_000 });
    expect((await claim(node, 8)).polls).toEqual([]);
    expect(await hastenPoll(node.pool, handoff.eventId)).toBe(true);
  });

  it("waits as long as the agent asks, but not longer than the task is followed", async ({
    handoff,
    node,
  }) => {
    const [poll] = (await claim(node, 7)).polls;
    const { agent, server } = await startEqualAgent(handoff.targetId, (response) =>
      response.writeHead(503, { "retry-after": "86400" }).end(),
    );
    const outbound = createLocalOutbound();
    const deps = {
      ...handoff.deps,
      outbound,
      agents: { get: () => Promise.resolve(agent) },
      random: () => 0.5,
      rereadCard: () => Promise.resolve("same" as const),
    };
    const look = await followTask(deps, poll!);
    expect(look).toBe("trouble");
    const { rows } = await node.pool.query<{ wait: number; left: number }>(
      `select (due_at - extract(epoch from clock_timestamp()) * 1000)::integer as wait, (deadline_at - due_at)::integer as left
       from handoff_polls`,
    );
    // Without Retry-After the first poll comes after a second or two.
    expect(rows[0]!.wait).toBeGreaterThan(20_000);
    expect(rows[0]!.left).toBeGreaterThan(-5_000);
    // A single failure, such as the first poll after a long downtime, does not end the task.
    const late = { ...poll!, deadlineAtMs: 0 };
    expect(await followTask(deps, late)).toBe("trouble");
    expect(await followTask(deps, { ...late, followError: "the agent answered 503" })).toBe("ended");
    outbound.close();
    server.close();
  });

  it("that finds nothing new keeps its count of polls, and one that finds a change resets the count", async ({
    handoff,
    node,
  }) => {
    const [poll] = (await claim(node, 1)).polls;
    await postponePoll(node.pool, poll!, { polls: 4, missing: 1, inMs: 0 });
    const [next] = (await claim(node, 2)).polls;
    expect(next).toMatchObject({ polls: 4, missing: 1 });
    await handoff.record({ leaseToken: 2, view: viewOf("INPUT_REQUIRED") });
    expect((await claim(node, 3)).polls).toMatchObject([{ polls: 0, missing: 0, state: "INPUT_REQUIRED" }]);
  });

  it("goes round the targets, a few tasks of each, and skips targets without room", async ({
    handoff,
    node,
    account,
    cards,
  }) => {
    const other = await createAgentTarget(node, account, cards.url);
    for (const target of [handoff.targetId, other]) await addDuePolls(node.pool, target, 3);
    const few = { leaseMs: 60_000, cursor: firstPollCursor, limit: 100, perTarget: 2 };
    const first = await claimPolls(node.pool, { ...few, leaseToken: 1, skip: [] });
    expect(first.polls.filter((poll) => poll.targetId === other)).toHaveLength(2);
    expect(first.polls.filter((poll) => poll.targetId === handoff.targetId)).toHaveLength(2);
    expect(first.isCircleClosed).toBe(true);
    const rest = await claimPolls(node.pool, { ...few, leaseToken: 2, skip: [other] });
    expect(new Set(rest.polls.map((poll) => poll.targetId))).toEqual(new Set([handoff.targetId]));
  });
});
