import { describe, expect } from "vitest";
import { createMailbox, type TestMailbox } from "./support/mailbox.ts";
import { createTestNode, type TestNode } from "./support/testNode.ts";
import { until } from "./support/until.ts";
import { file, sharedNodeTest } from "./support/fixtures.ts";

const it = sharedNodeTest()
  .extend("hasty", file, ({ newNode }) => newNode({ POSTRIDER_MAILBOX_LEASE_SECONDS: "1" }))
  /** For this node, messages older than a second have expired. */
  .extend("forgetful", file, ({ newNode }) => newNode({ POSTRIDER_MAILBOX_RETENTION_SECONDS: "1" }));

interface Claim {
  id: string;
  claim_token: string;
  ordering_key: string;
  payload: { n: number };
}

async function claim(box: TestMailbox, max = 100, fields = {}): Promise<Claim[]> {
  return (await box.post("claim", { max, ...fields })).body.messages;
}

async function send(box: TestMailbox, key: string, numbers: number[]): Promise<string[]> {
  const ids: string[] = [];
  for (const n of numbers) ids.push(await box.send({ n }, { "x-ordering-key": key }));
  return ids;
}

function finish(box: TestMailbox, verb: string, claims: Claim[], fields = {}): Promise<unknown> {
  const messages = claims.map(({ id, claim_token }) => ({ id, claim_token }));
  return box.post(verb, { messages, ...fields });
}

describe("ordering keys", () => {
  it("let one message per key be claimed at a time, in the order of acceptance", async ({ node }) => {
    const box = await createMailbox(node);
    await send(box, "a", [1, 2, 3]);
    await send(box, "b", [1, 2]);
    const free = await box.send({ n: 0 });
    const seen: string[] = [];
    for (let round = 0; round < 3; round++) {
      const claims = await claim(box);
      expect(await claim(box)).toEqual([]);
      seen.push(claims.map(({ ordering_key, payload }) => `${ordering_key ?? "-"}${payload.n}`).join(" "));
      await finish(box, "ack", claims);
    }
    expect(seen).toEqual(["a1 b1 -0", "a2 b2", "a3"]);
    expect((await box.read(free)).body.status).toBe("ACKNOWLEDGED");
    expect(await box.stats()).toMatchObject({ ready: 0, claimed: 0, blocked: 0 });
  });

  it("are blocked while the first message is released, delayed or lapsed, and continue after its end", async ({
    hasty,
    forgetful,
  }) => {
    const box = await createMailbox(hasty);
    const [one, two, three] = await send(box, "k", [1, 2, 3]);
    const next = async (fields = {}): Promise<Claim[]> =>
      until(
        () => claim(box, 100, fields),
        (claims) => claims.length > 0,
      );
    const lasting = { lease_seconds: 60 };
    await finish(box, "release", await claim(box, 100, lasting));
    const again = await claim(box, 100, lasting);
    expect(again.map(({ id }) => id)).toEqual([one]);
    await finish(box, "release", again, { delay_seconds: 2 });
    expect(await claim(box)).toEqual([]);
    expect((await box.one(two!, "claim")).status).toBe(409);
    const delayed = await next();
    expect(delayed.map(({ id }) => id)).toEqual([one]);
    const lapsed = await next(lasting);
    expect(lapsed.map(({ id }) => id)).toEqual([one]);
    await finish(box, "reject", lapsed);
    const [second] = await claim(box);
    expect(second!.id).toBe(two);
    const { api_key: key } = box.account;
    const statusOf = async (id: string): Promise<string> =>
      (await forgetful.call("GET", `/api/v1/mailbox-messages/${id}`, { key })).body.status;
    // The expiry of the second message frees the third, or expires it too.
    const states = await until(
      async () => [await statusOf(two!), await statusOf(three!)],
      ([status]) => status === "EXPIRED",
    );
    expect(["UNREAD", "EXPIRED"]).toContain(states[1]);
  });

  it("hold for claims by id", async ({ node }) => {
    const box = await createMailbox(node);
    const [one, two] = await send(box, "k", [1, 2]);
    const early = await box.one(two!, "claim");
    expect([early.status, early.headers["x-error-code"]]).toEqual([409, "message_behind"]);
    expect((await box.one(one!, "claim")).status).toBe(200);
    expect((await box.one(two!, "claim")).status).toBe(409);
    expect((await box.one(one!, "ack")).status).toBe(200);
    expect((await box.one(two!, "claim")).status).toBe(200);
  });

  it("are separate for each mailbox", async ({ node }) => {
    const box = await createMailbox(node);
    const other = await createMailbox(node, {}, box.account);
    await send(box, "k", [1]);
    await send(other, "k", [1]);
    expect(await claim(box)).toHaveLength(1);
    expect(await claim(other)).toHaveLength(1);
  });

  it("do not block other messages behind a long queue of one key", async ({ node }) => {
    const box = await createMailbox(node);
    const { api_key: key } = box.account;
    const put = (n: number): Promise<{ status: number }> =>
      node.call("POST", `/t/${box.id}`, { key, body: { n }, headers: { "x-ordering-key": "long" } });
    // A hundred at a time, because a busy machine refuses some of more.
    for (let first = 0; first < 1_500; first += 100) {
      const answers = await Promise.all(Array.from({ length: 100 }, (_, n) => put(first + n)));
      expect(answers.filter(({ status }) => status !== 202)).toEqual([]);
    }
    await send(box, "other", [1]);
    expect((await claim(box, 1)).map((message) => message.ordering_key)).toEqual(["long"]);
    const [behind] = await until(
      () => claim(box, 1),
      (claims) => claims.length > 0,
    );
    expect(behind!.ordering_key).toBe("other");
    expect(await box.stats()).toMatchObject({ ready: 0, claimed: 2, blocked: 1_499 });
  });

  it("hold when many consumers on two nodes compete, and no message is left", async ({
    node,
    database,
    onTestFinished,
  }) => {
    const other = createTestNode(database);
    onTestFinished(() => other.stop());
    const box = await createMailbox(node);
    const { api_key: key } = box.account;
    const keys = ["a", "b", "c", "d"];
    const perKey = 40;
    const order: Record<string, number[]> = { a: [], b: [], c: [], d: [] };
    const active = new Set<string>();
    let done = 0;
    const sending = Promise.all(
      keys.map((name) =>
        send(
          box,
          name,
          Array.from({ length: perKey }, (_, n) => n),
        ),
      ),
    );
    const consumer = async (on: TestNode, max: number): Promise<void> => {
      while (done < keys.length * perKey) {
        const { body } = await on.call("POST", `/api/v1/mailboxes/${box.id}/claim`, {
          key,
          body: { max, wait_seconds: 1, lease_seconds: 60 },
        });
        for (const message of body.messages as Claim[]) {
          expect(active.has(message.ordering_key)).toBe(false);
          active.add(message.ordering_key);
          order[message.ordering_key]!.push(message.payload.n);
        }
        for (const { id, claim_token, ordering_key } of body.messages as Claim[]) {
          active.delete(ordering_key);
          const ack = await on.call("POST", `/api/v1/mailboxes/${box.id}/ack`, {
            key,
            body: { messages: [{ id, claim_token }] },
          });
          expect(ack.body.results[0].status).toBe(200);
          done++;
        }
      }
    };
    await Promise.all([
      sending,
      ...Array.from({ length: 12 }, (_, n) => consumer(n % 2 ? node : other, 1 + (n % 3))),
    ]);
    for (const name of keys) expect(order[name]).toEqual(Array.from({ length: perKey }, (_, n) => n));
  });
});
