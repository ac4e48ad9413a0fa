import { EventEmitter } from "node:events";
import type { FastifyReply } from "fastify";
import { afterEach, expect, test, vi } from "vitest";
import type { Caller } from "./credentials.ts";
import { maxWaitMs, type ReadKind, readLimits, ReadTurns } from "./readTurns.ts";

afterEach(() => void vi.useRealTimers());

/** Pool size that allows three long requests. */
const connections = 12;

/** A reply that records its headers, and whose client can disconnect. */
class Reply {
  readonly headers = new Map<string, unknown>();
  readonly raw = Object.assign(new EventEmitter(), { writableEnded: false });

  header(name: string, value: unknown): this {
    this.headers.set(name, value);
    return this;
  }
}

interface Started {
  reply: Reply;
  answer: Promise<string>;
}

/** Starts requests that end when the test calls `end`. */
function stage(turns: ReadTurns) {
  const begun: string[] = [];
  const ends = new Map<string, () => void>();
  const start = (
    kind: ReadKind,
    name: string,
    { org = "a", customer }: { org?: string; customer?: string } = {},
  ): Started => {
    const scope = customer === undefined ? undefined : { kind: "customer", customerUid: customer };
    const caller = { kind: "apiKey", orgId: org, keyId: "k", scope } as Caller;
    const reply = new Reply();
    const call = { caller, reply: reply as unknown as FastifyReply };
    const answer = turns.run(kind, call, async () => {
      begun.push(name);
      await new Promise<void>((resolve) => ends.set(name, resolve));
      return name;
    });
    // A request that is still waiting when its test ends is refused half a minute later, without a handler.
    answer.catch(() => undefined);
    return { reply, answer };
  };
  const end = async ({ answer }: Started, name: string): Promise<void> => {
    ends.get(name)!();
    expect(await answer).toBe(name);
  };
  return { begun, start, end };
}

/** Lets requests begin whose turn has come. */
const settled = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

test("an organization may run and queue a limited number of requests of a kind, and does not delay other organizations", async () => {
  const { begun, start, end } = stage(new ReadTurns(connections));
  const { inFlight, waiting } = readLimits.stats;
  const all = Array.from({ length: inFlight + waiting }, (_, n) => start("stats", `a${n}`));
  const refused = start("stats", "too many");
  await expect(refused.answer).rejects.toMatchObject({
    status: 429,
    retryAfterSeconds: 1,
    code: "too_many_at_once",
  });
  expect(Object.fromEntries(refused.reply.headers)).toEqual({
    ratelimit: '"stats";r=0;t=1',
    "ratelimit-policy": `"stats";q=${inFlight + waiting};qu="concurrent-requests"`,
  });
  start("stats", "b0", { org: "b" });
  start("lists", "another kind");
  await settled();
  expect(begun).toEqual(["a0", "a1", "a2", "b0", "another kind"]);
  await end(all[1]!, "a1");
  await settled();
  expect(begun.at(-1)).toBe("a3");
  expect(all[1]!.reply.headers.get("ratelimit")).toBe(`"stats";r=${inFlight + waiting - 2};t=1`);
});

test("an organization runs one long request at a time, and all organizations use a quarter of the connections", async () => {
  const { begun, start, end } = stage(new ReadTurns(connections));
  const first = start("searches", "a1");
  start("imports", "a2");
  start("lists", "a list");
  const other = start("searches", "b1", { org: "b" });
  start("replay-counts", "b2", { org: "b" });
  start("searches", "c1", { org: "c" });
  start("searches", "d1", { org: "d" });
  await settled();
  expect(begun).toEqual(["a1", "a list", "b1", "c1"]);
  await end(first, "a1");
  await settled();
  // A free place goes to the organization with the fewest requests in flight.
  expect(begun.slice(4)).toEqual(["d1"]);
  await end(other, "b1");
  await settled();
  expect(begun.slice(5)).toEqual(["b2"]);
});

test("the smallest pool still runs one long request", async () => {
  const { begun, start } = stage(new ReadTurns(2));
  start("searches", "one");
  start("searches", "two");
  await settled();
  expect(begun).toEqual(["one"]);
});

test("a customer runs one request of a kind at a time, and uses a quarter of its organization's places", async () => {
  const { begun, start } = stage(new ReadTurns(connections));
  const quota = Math.ceil((readLimits.lists.inFlight + readLimits.lists.waiting) / 4);
  for (let n = 0; n < quota; n++) start("lists", `ada${n}`, { customer: "ada" });
  const refused = start("lists", "too many", { customer: "ada" });
  await expect(refused.answer).rejects.toMatchObject({ status: 429 });
  expect(refused.reply.headers.get("ratelimit-policy")).toContain(`q=${quota};`);
  start("lists", "bob", { customer: "bob" });
  start("lists", "own");
  await settled();
  expect(begun).toEqual(["ada0", "bob", "own"]);
});

test("customers and their organization take turns, however many requests each of them sends", async () => {
  const { begun, start, end } = stage(new ReadTurns(connections));
  const first = start("searches", "ada1", { customer: "ada" });
  start("searches", "ada2", { customer: "ada" });
  const own = start("searches", "own1");
  start("searches", "own2");
  const bob = start("searches", "bob", { customer: "bob" });
  await settled();
  await end(first, "ada1");
  await settled();
  await end(own, "own1");
  await settled();
  await end(bob, "bob");
  await settled();
  expect(begun).toEqual(["ada1", "own1", "bob", "ada2"]);
});

test("a request whose client disconnects, or that waits too long, leaves its place to the next request", async () => {
  vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
  const { begun, start, end } = stage(new ReadTurns(connections));
  const first = start("replay-counts", "first");
  const gone = start("replay-counts", "gone");
  gone.reply.raw.emit("close");
  await expect(gone.answer).rejects.toMatchObject({ status: 503 });
  const late = start("replay-counts", "late");
  vi.advanceTimersByTime(maxWaitMs);
  await expect(late.answer).rejects.toMatchObject({ status: 503 });
  start("replay-counts", "last");
  await end(first, "first");
  await settled();
  expect(begun).toEqual(["first", "last"]);
});

test("a request that fails frees its place", async () => {
  const turns = new ReadTurns(connections);
  const caller = { kind: "apiKey", orgId: "a", keyId: "k", scope: undefined } as const;
  const fail = (): Promise<never> => Promise.reject(new Error("no"));
  const { inFlight, waiting } = readLimits["replay-counts"];
  for (let n = 0; n <= inFlight + waiting; n++) {
    const call = { caller, reply: new Reply() as unknown as FastifyReply };
    await expect(turns.run("replay-counts", call, fail)).rejects.toThrow("no");
  }
});
