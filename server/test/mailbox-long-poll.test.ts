import { connect } from "node:net";
import { describe, expect, onTestFinished } from "vitest";
import { createMailbox, type TestMailbox } from "./support/mailbox.ts";
import { type Answer, createTestNode, type TestNode } from "./support/testNode.ts";
import { until } from "./support/until.ts";
import { startedNodeTest } from "./support/fixtures.ts";
import { endListening } from "./support/otherHands.ts";
import { messageClaimableAtMs } from "./support/unseenRows.ts";

const it = startedNodeTest({ POSTRIDER_ROLES: "api" });

/** The same mailbox through another node. */
function through(box: TestMailbox, on: TestNode): Pick<TestMailbox, "post"> {
  const key = box.account.api_key;
  return {
    post: (verb, body, options) =>
      on.call("POST", `/api/v1/mailboxes/${box.id}/${verb}`, { key, body: body ?? {}, ...options }),
  };
}

function idsOf(answer: Answer): string[] {
  return answer.body.messages.map((message: { id: string }) => message.id);
}

/** Resolves once `count` requests wait on the node. */
function waiting(on: TestNode, count: number): Promise<number> {
  return until(
    () => on.service.mailboxes.waiting(),
    (seen) => seen === count,
  );
}

/**
 * Intercepts the node's queries that `isMeant` selects until the test ends; `answer` replaces the database's
 * answer.
 */
function intercept(
  node: TestNode,
  isMeant: (name: string) => boolean,
  answer?: () => unknown,
): { count: number } {
  const seen = { count: 0 };
  const pass = node.pool.query.bind(node.pool);
  node.pool.query = ((...input: Parameters<typeof pass>) => {
    const isOne = isMeant((input[0] as { name?: string }).name ?? "");
    if (isOne) seen.count++;
    return isOne && answer !== undefined ? Promise.resolve(answer()) : pass(...input);
  }) as typeof pass;
  onTestFinished(() => {
    node.pool.query = pass;
  });
  return seen;
}

describe("a claim that waits", () => {
  it("is answered when an item is accepted on this node or another, without waiting for the next poll", async ({
    node,
    other,
  }) => {
    intercept(
      node,
      (name) => name === "poll_mailboxes",
      () => ({ rows: [] }),
    );
    const box = await createMailbox(node);
    const { api_key: key } = box.account;
    for (const accepting of [node, other]) {
      const claim = through(box, node).post("claim", { max: 10, wait_seconds: 20 });
      await waiting(node, 1);
      const sent = await accepting.call("POST", `/t/${box.id}`, { key, body: { hello: 1 } });
      expect(idsOf(await claim)).toEqual([sent.body.id]);
    }
  });

  it("is answered with no messages when its wait time ends, not before", async ({ node }) => {
    const box = await createMailbox(node);
    const claim = box.post("claim", { wait_seconds: 2 });
    // The claim waits; only the end of its wait time can end it.
    await waiting(node, 1);
    const { status, body } = await claim;
    expect(status).toBe(200);
    expect(body).toEqual({ messages: [], remaining: { ready: 0, claimed: 0 } });
  });

  it("gets nothing of a mailbox that was assigned to another customer while it waited", async ({ node }) => {
    const box = await createMailbox(node);
    const { api_key: key, session_token: session } = box.account;
    for (const uid of ["first", "second"])
      await node.call("PUT", `/api/v1/customers/${uid}`, { key, body: {} });
    const moveTo = (uid: string): Promise<Answer> =>
      node.call("PATCH", `/api/v1/targets/${box.id}`, { key, body: { customer_uid: uid } });
    await moveTo("first");
    const { body: limited } = await node.call("POST", "/api/v1/keys", {
      session,
      body: { name: "limited", scope: "customer", customer_uid: "first" },
    });
    const claim = node.call("POST", `/api/v1/mailboxes/${box.id}/claim`, {
      key: limited.key,
      body: { wait_seconds: 20 },
    });
    await waiting(node, 1);
    expect((await moveTo("second")).status).toBe(200);
    const sent = await node.call("POST", `/t/${box.id}`, { key, body: { for: "second" } });
    expect(await claim).toMatchObject({ status: 404, body: { error: "not found" } });
    expect(idsOf(await box.post("claim", {}))).toEqual([sent.body.id]);
  });

  it("is answered when a delay or a lease ends, and when a message is released", async ({
    node,
    other,
    newNode,
  }) => {
    // Leases end after a second, which is less than the interface allows.
    const hasty = newNode({ POSTRIDER_MAILBOX_LEASE_SECONDS: "1" });
    const box = await createMailbox(node);
    const id = await box.send({});
    const first = await box.post("claim", { lease_seconds: 5 });
    const claims = [{ id, claim_token: first.body.messages[0].claim_token }];
    const onRelease = through(box, other).post("claim", { wait_seconds: 20 });
    await waiting(other, 1);
    await box.post("release", { messages: claims });
    const second = await onRelease;
    expect(idsOf(second)).toEqual([id]);

    /** When the message becomes claimable, on the database's clock. */
    const claimableAtMs = (): Promise<number> => messageClaimableAtMs(node.pool, id);
    const [{ claim_token: token }] = second.body.messages;
    await box.post("release", { messages: [{ id, claim_token: token }], delay_seconds: 1 });
    const delayEndsMs = await claimableAtMs();
    const third = await through(box, hasty).post("claim", { wait_seconds: 20 });
    expect(idsOf(third)).toEqual([id]);
    const leaseEndsMs = await claimableAtMs();
    expect(leaseEndsMs - 1_000).toBeGreaterThanOrEqual(delayEndsMs);

    const fourth = await through(box, hasty).post("claim", { wait_seconds: 20 });
    expect(idsOf(fourth)).toEqual([id]);
    expect((await claimableAtMs()) - 1_000).toBeGreaterThanOrEqual(leaseEndsMs);
  });

  it("causes no queries while no message arrives, however many claims wait", async ({ node, other }) => {
    const boxes = [await createMailbox(node), await createMailbox(node)];
    const elsewhere = await createMailbox(other);
    const count = 1_000;
    const claims = Array.from({ length: count }, (_, n) =>
      boxes[n % 2]!.post("claim", { max: 1, wait_seconds: 30 }),
    );
    await waiting(node, count);
    // The node's own statements, such as its heartbeat, do not count.
    const queries = intercept(node, (name) => /mailbox|message/.test(name));
    for (let n = 0; n < 20; n++) {
      const claim = elsewhere.post("claim", { wait_seconds: 20 });
      await waiting(other, 1);
      await elsewhere.send({ n });
      expect(idsOf(await claim)).toHaveLength(1);
    }
    // One poll is possible.
    expect(queries.count).toBeLessThanOrEqual(1);
    await Promise.all(Array.from({ length: count }, (_, n) => boxes[n % 2]!.send({ n })));
    const ids = (await Promise.all(claims)).flatMap(idsOf);
    expect(new Set(ids).size).toBe(count);
  });

  it("shares new messages with the other waiting claims on all nodes", async ({ node, other }) => {
    const box = await createMailbox(node);
    const claims = Array.from({ length: 40 }, (_, n) =>
      through(box, n % 2 ? node : other).post("claim", { max: 5, wait_seconds: 20 }),
    );
    await waiting(node, 20);
    await waiting(other, 20);
    const ids = new Set<string>();
    const progress = { answered: 0 };
    for (const claim of claims) void claim.then(() => progress.answered++);
    while (progress.answered < 40) ids.add(await box.send({}));
    const claimed = (await Promise.all(claims)).flatMap(idsOf);
    expect(new Set(claimed).size).toBe(claimed.length);
    expect(claimed.every((id) => ids.has(id))).toBe(true);
  });

  it("claims nothing for a closed connection", async ({ node }) => {
    const box = await createMailbox(node);
    const url = new URL(await node.listen());
    const body = JSON.stringify({ max: 10, wait_seconds: 30 });
    const socket = connect(Number(url.port), url.hostname);
    socket.write(
      `POST /api/v1/mailboxes/${box.id}/claim HTTP/1.1\r\nhost: x\r\nauthorization: Bearer ${box.account.api_key}\r\ncontent-type: application/json\r\ncontent-length: ${body.length}\r\n\r\n${body}`,
    );
    await waiting(node, 1);
    socket.destroy();
    await waiting(node, 0);
    const id = await box.send({});
    expect((await box.read(id)).body).toMatchObject({ status: "UNREAD", claim_count: 0 });
  });

  it("is answered with the available messages when the node stops", async ({ database }) => {
    const leaving = createTestNode(database, { POSTRIDER_ROLES: "api" });
    leaving.service.start();
    const box = await createMailbox(leaving);
    const claim = box.post("claim", { wait_seconds: 30 });
    await waiting(leaving, 1);
    const stopped = leaving.stop();
    expect((await claim).body.messages).toEqual([]);
    await stopped;
  });

  it("still works when the connection that listens for notifications is lost", async ({ node, other }) => {
    const box = await createMailbox(node);
    await endListening(node.pool);
    const claim = through(box, node).post("claim", { wait_seconds: 20 });
    await waiting(node, 1);
    const { api_key: key } = box.account;
    const sent = await other.call("POST", `/t/${box.id}`, { key, body: {} });
    expect(idsOf(await claim)).toEqual([sent.body.id]);
  });
});

describe("Claim-Id", () => {
  it("returns the same claim again, and a new one under another id or key", async ({ node, other }) => {
    const box = await createMailbox(node);
    for (let n = 0; n < 6; n++) await box.send({ n });
    const headers = { "claim-id": "job 7" };
    const first = await box.post("claim", { max: 2 }, { headers });
    expect(first.headers["claim-replayed"]).toBeUndefined();
    for (const on of [node, other]) {
      const again = await through(box, on).post("claim", { max: 2 }, { headers });
      expect(again.body.messages).toEqual(first.body.messages);
      expect(again.headers["claim-replayed"]).toBe("true");
    }
    const { key: _key, ...different } = { headers: { "claim-id": "job 8" }, key: "" };
    const second = await box.post("claim", { max: 2 }, different);
    const third = await box.post("claim", { max: 2 }, { headers, key: await box.newKey() });
    const ids = [first, second, third].flatMap(idsOf);
    expect(new Set(ids).size).toBe(6);

    const [done] = first.body.messages;
    await box.post("ack", { messages: [{ id: done.id, claim_token: done.claim_token }] });
    expect(idsOf(await box.post("claim", { max: 2 }, { headers }))).toEqual(idsOf(first).slice(1));
  });

  it("returns one claim for concurrent repetitions, on several nodes", async ({ node, other }) => {
    const box = await createMailbox(node);
    for (let round = 0; round < 5; round++) {
      for (let n = 0; n < 4; n++) await box.send({ n });
      const answers = await Promise.all(
        Array.from({ length: 20 }, (_, n) =>
          through(box, n % 2 ? node : other).post(
            "claim",
            { max: 2, wait_seconds: 5 },
            { headers: { "claim-id": `round ${round}` } },
          ),
        ),
      );
      const distinct = new Set(answers.map((answer) => JSON.stringify(answer.body.messages)));
      expect(distinct.size).toBe(1);
      expect(idsOf(answers[0]!)).toHaveLength(2);
    }
  });

  it.for(["", "x".repeat(256)])("refuses a header of the wrong length", async (claimId, { node }) => {
    const box = await createMailbox(node);
    const { status, body } = await box.post("claim", {}, { headers: { "claim-id": claimId } });
    expect([status, body.error]).toEqual([400, expect.stringContaining("Claim-Id")]);
  });
});
