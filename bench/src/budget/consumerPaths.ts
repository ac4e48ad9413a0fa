import assert from "node:assert/strict";
import { finishDeliveries } from "../../../server/src/delivery/rows/store.ts";
import { beginHandoff, recordHandoff } from "../../../server/src/handoff/record/handoffStore.ts";
import { noChanges } from "../../../server/test/support/idleSink.ts";
import type { Lease, LeasedItem } from "../../../server/src/items/item.ts";
import type { ClaimedMessage } from "../../../server/src/mailbox/message/message.ts";
import { createMailboxes } from "../../../server/src/mailbox/mailboxes.ts";
import { acceptAll, batchItems, intakeOf, sinkOf } from "./acceptancePaths.ts";
import type { Path } from "./path.ts";
import type { World } from "./world.ts";

const retentionMs = 7 * 86_400_000;
const handoffs = 8;

/** Paths of 64 consumers, each of which claims one message and acknowledges it. */
export async function mailboxPaths(world: World): Promise<Path[]> {
  const { key } = world;
  const mailboxId = await world.newTarget("consumers", { kind: "mailbox" });
  const intake = intakeOf(world, sinkOf());
  const mailboxes = createMailboxes({
    pool: world.pool,
    direct: world.pool,
    log: { warn: (_fields, message) => assert.fail(message) },
    retentionMs,
    changes: noChanges,
    onKeyUsed: () => undefined,
    ownerOf: () => world.orgId,
  });
  const { signal } = new AbortController();
  let claimed: ClaimedMessage[] = [];
  const put = (): Promise<void> => acceptAll(intake, world.batch(mailboxId, batchItems), "unread");
  const claim = async (): Promise<void> => {
    const request = { key, mailboxId, max: 1, leaseMs: 3_600_000, claimId: null, waitMs: 0, signal };
    const outcomes = await Promise.all(Array.from({ length: batchItems }, () => mailboxes.claim(request)));
    claimed = outcomes.flatMap((outcome) => (outcome.kind === "claimed" ? outcome.messages : []));
    assert.equal(claimed.length, batchItems);
  };
  const acknowledge = async (): Promise<void> => {
    const results = await Promise.all(
      claimed.map(({ id, claimToken }) =>
        mailboxes.end({ key, messageId: id, mailboxId, claimToken, reason: null }),
      ),
    );
    assert.ok(results.every((result) => result === "done"));
  };
  return [
    {
      name: "claim a message",
      items: batchItems,
      async prepare() {
        if (claimed.length > 0) await acknowledge();
        await put();
      },
      run: claim,
    },
    {
      name: "acknowledge a message",
      items: batchItems,
      async prepare() {
        await put();
        await claim();
      },
      run: acknowledge,
    },
  ];
}

/** A path that hands items to an agent, which accepts each at once and has completed its task when it is first polled. */
export async function handoffPath(world: World): Promise<Path> {
  const { pool } = world;
  const agent = await world.newTarget("agent", { kind: "a2a", url: "https://agent.invalid/", secret: null });
  const taken: LeasedItem[] = [];
  const lease: Lease = { token: 3, durationMs: 3_600_000 };
  const sink = sinkOf({
    hasRoom: () => true,
    newLease: () => lease,
    take: (_item, leased) => taken.push(leased),
  });
  const intake = intakeOf(world, sink);
  const unexpected = (): void => assert.fail("there is no target of results");
  const pools = { pool, direct: pool };
  const deps = {
    ...pools,
    nowMs: Date.now,
    changes: noChanges,
    onDue: unexpected,
    onMailboxItems: unexpected,
    quietMs: 3_600_000,
  };
  return {
    name: "hand over to an agent",
    items: handoffs,
    async prepare() {
      taken.length = 0;
      await acceptAll(intake, world.batch(agent, handoffs), "leased");
    },
    async run() {
      for (const { id: eventId, rowId } of taken) {
        const beginning = await beginHandoff(pool, { rowId, eventId, leaseToken: lease.token });
        assert.equal(beginning.kind, "send");
        const view = taskOf(eventId, "SUBMITTED", null);
        await recordHandoff(deps, { eventId, targetId: agent, isAcceptance: true, view });
      }
      await finishDeliveries(pool, taken.map(deliveredOf));
      for (const { id: eventId } of taken) {
        const view = { ...taskOf(eventId, "COMPLETED", '[{"text":"done"}]'), outcome: "COMPLETED" as const };
        assert.equal(await recordHandoff(deps, { eventId, targetId: agent, view }), "recorded");
      }
    },
  };
}

function taskOf(eventId: string, state: string, artifacts: string | null) {
  return {
    taskId: `task-${eventId}`,
    contextId: `context-${eventId}`,
    state,
    statusMessage: null,
    statusParts: null,
    artifacts,
    isTruncated: false,
    outcome: null,
    fingerprint: `${state}-${eventId}`,
  };
}

function deliveredOf({ id: eventId, rowId, lease }: LeasedItem) {
  return {
    eventId,
    rowId,
    leaseToken: lease.token,
    outcome: 1 as const,
    delayMs: 0,
    attemptedAtMs: Date.now(),
    durationMs: 5,
    statusCode: 200,
    error: null,
    responseBody: null,
    headerSet: 0,
  };
}
