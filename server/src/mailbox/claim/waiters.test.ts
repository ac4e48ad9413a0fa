import { describe, expect, it } from "vitest";
import type { ClaimOutcome, ClaimRequest } from "./claimMessages.ts";
import { type WaitingClaim, Waiters } from "./waiters.ts";

const remaining = { ready: 0, claimed: 0 };

function claimed(id: string): ClaimOutcome {
  return { kind: "claimed", messages: [{ id }] as never, isRepeated: false, remaining };
}

function empty(retryInMs: number | null = null): ClaimOutcome {
  return { kind: "empty", retryInMs, remaining };
}

/** Waiters with a fake database, whose answers the test gives one by one. */
function setUp() {
  const asked: { request: ClaimRequest; answer: (outcome: ClaimOutcome) => void }[] = [];
  const undone: ClaimOutcome[] = [];
  let onAsked = (): void => undefined;
  const waiters = new Waiters({
    claim: (request) =>
      new Promise((resolve) => {
        asked.push({ request, answer: resolve });
        onAsked();
      }),
    undo: (_request, outcome) => {
      if (outcome.kind === "claimed") undone.push(outcome);
    },
  });
  /** The next claim that reaches the database. */
  const next = async () => {
    while (asked.length === 0) await new Promise<void>((resolve) => (onAsked = resolve));
    return asked.shift()!;
  };
  return {
    waiters,
    undone,
    next,
    /** Starts a claim that finds nothing, waits and is woken. Returns its outcome and its second claim at the database. */
    askAgain: async (overrides: Partial<WaitingClaim> = {}) => {
      const outcome = waiters.claim(request(overrides));
      (await next()).answer(empty());
      await settle();
      waiters.wake(["box"]);
      return { outcome, second: await next() };
    },
    questions: () => asked.length,
  };
}

function request(overrides: Partial<WaitingClaim> = {}): WaitingClaim {
  return {
    key: "k",
    mailboxId: "box",
    max: 1,
    leaseMs: 1_000,
    claimId: null,
    waitMs: 10_000,
    signal: new AbortController().signal,
    ...overrides,
  };
}

/** Lets all pending callbacks run. */
function settle(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}

describe("waiters (long polls)", () => {
  it("do not miss a wake that arrives during their first claim", async () => {
    const { waiters, next } = setUp();
    const outcome = waiters.claim(request());
    const first = await next();
    waiters.wake(["box"]);
    first.answer(empty());
    (await next()).answer(claimed("a"));
    expect(await outcome).toEqual(claimed("a"));
    expect(waiters.count()).toBe(0);
  });

  it("do not miss a wake that arrives while they claim again", async () => {
    const { waiters, next, askAgain } = setUp();
    const { outcome, second } = await askAgain();
    waiters.wake(["box"]);
    second.answer(empty());
    (await next()).answer(claimed("a"));
    expect(await outcome).toEqual(claimed("a"));
  });

  it("end in time, even if messages that others claim arrive during each of their claims", async () => {
    const { waiters, next } = setUp();
    const poll = { isOver: false };
    const outcome = waiters.claim(request({ waitMs: 1 })).finally(() => (poll.isOver = true));
    for (let claims = 0; claims < 10_000 && !poll.isOver; claims++) {
      const { answer } = await next();
      waiters.wake(["box"]);
      answer(empty());
      await settle();
    }
    expect(poll.isOver).toBe(true);
    expect(await outcome).toEqual(empty());
    expect(waiters.count()).toBe(0);
  });

  it("are served in the order of their requests, until a claim finds no message", async () => {
    const { waiters, next, questions } = setUp();
    const outcomes = [waiters.claim(request()), waiters.claim(request())];
    for (const _ of outcomes) (await next()).answer(empty());
    await settle();
    expect(waiters.count()).toBe(2);
    waiters.wake(["elsewhere"]);
    expect(questions()).toBe(0);
    waiters.wake(["box"]);
    (await next()).answer(claimed("a"));
    (await next()).answer(empty());
    expect(await outcomes[0]).toEqual(claimed("a"));
    await settle();
    expect([waiters.count(), questions()]).toEqual([1, 0]);
    waiters.stop();
    expect(await outcomes[1]).toMatchObject({ kind: "empty" });
  });

  it("release what was claimed for a client that disconnected during the claim", async () => {
    const { askAgain, undone } = setUp();
    const gone = new AbortController();
    const { outcome, second } = await askAgain({ signal: gone.signal });
    gone.abort();
    second.answer(claimed("a"));
    await outcome;
    expect(undone).toEqual([claimed("a")]);
  });

  it("make no claim for a client that has disconnected", async () => {
    const { waiters, next, questions } = setUp();
    const gone = new AbortController();
    const outcome = waiters.claim(request({ signal: gone.signal }));
    (await next()).answer(empty());
    await settle();
    gone.abort();
    expect(await outcome).toMatchObject({ kind: "empty" });
    waiters.wake(["box"]);
    expect(questions()).toBe(0);
    expect(waiters.mailboxIds()).toEqual([]);
  });

  it("claim again at the end of a lease, without being woken", async () => {
    const { waiters, next } = setUp();
    const outcome = waiters.claim(request());
    (await next()).answer(empty(30));
    (await next()).answer(claimed("a"));
    expect(await outcome).toEqual(claimed("a"));
  });

  it("retry at once when messages are locked, also for requests that do not wait", async () => {
    const { waiters, next } = setUp();
    const outcome = waiters.claim(request({ waitMs: 0 }));
    (await next()).answer(empty(0));
    (await next()).answer(empty(0));
    (await next()).answer(claimed("a"));
    expect(await outcome).toEqual(claimed("a"));
  });

  it("let a claim in flight finish when the node stops", async () => {
    const { waiters, next, askAgain } = setUp();
    const { outcome, second } = await askAgain();
    waiters.stop();
    second.answer(claimed("a"));
    expect(await outcome).toEqual(claimed("a"));
    const late = waiters.claim(request());
    (await next()).answer(empty());
    expect(await late).toMatchObject({ kind: "empty" });
  });

  it("reject with the database's error", async () => {
    const waiters = new Waiters({ claim: () => Promise.reject(new Error("away")), undo: () => undefined });
    await expect(waiters.claim(request())).rejects.toThrow("away");
    expect(waiters.mailboxIds()).toEqual([]);
  });
});
