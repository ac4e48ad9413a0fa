import { describe, expect, it } from "vitest";
import type { Facts, StoredItem } from "../facts/facts.ts";
import type { Call, History, Operation, Output, Receipt } from "../history/history.ts";
import { checks } from "./checks.ts";

/*
 * Each check finds nothing in a world without violations, and finds one violation that is put into the same world:
 * a check that cannot fail proves nothing.
 */

const webhook = "webhook";
const mailbox = "mailbox";

function call(operation: Operation, output: Output, more: Partial<Call> = {}): Call {
  return {
    number: 0,
    by: "somebody",
    operation,
    outcome: "ok",
    status: 202,
    output,
    reason: null,
    startedAtMs: 0,
    endedAtMs: 1,
    ...more,
  };
}

function send(number: number, key: string | null, id: string, more: Partial<Call> = {}): Call {
  return call({ op: "send", targetId: webhook, number, key, orderingKey: null }, { id }, more);
}

function item(id: string, number: number, more: Partial<StoredItem> = {}): StoredItem {
  return {
    id,
    number,
    targetId: webhook,
    isBillable: true,
    sourceId: null,
    publicationId: null,
    status: "DELIVERED",
    ...more,
  };
}

function receipt(id: string, number: number, answered: Receipt["answered"] = 200): Receipt {
  return { id, number, path: "/", answered, atMs: 0 };
}

/**
 * Returns a world without violations: a webhook item, an item with a key that was requested twice, a publication,
 * a message, a handoff and a replay.
 */
function inOrder(): { history: History; facts: Facts } {
  const claimed = { id: "m", token: "t" };
  return {
    history: {
      calls: [
        send(1, null, "a"),
        send(2, "k", "b", { outcome: "unknown", status: null, output: {} }),
        send(2, "k", "b"),
        call({ op: "publish", customer: "shop", number: 3, key: null }, { id: "p", itemIds: ["c"] }),
        call({ op: "send", targetId: mailbox, number: 4, key: null, orderingKey: null }, { id: "m" }),
        call({ op: "claim", mailboxId: mailbox }, { claims: [claimed] }, { startedAtMs: 2, endedAtMs: 3 }),
        call({ op: "ack", ...claimed }, { messageStatus: 200 }, { startedAtMs: 4, endedAtMs: 5 }),
        call({ op: "read", id: "m" }, { state: "ACKNOWLEDGED" }, { startedAtMs: 9000, endedAtMs: 9001 }),
        send(5, null, "h"),
        call({ op: "replay", targetId: webhook }, { id: "r" }),
      ],
      receipts: [receipt("a", 1, 500), receipt("a", 1), receipt("b", 2), receipt("c", 3), receipt("d", 1)],
      ends: [],
    },
    facts: {
      items: [
        item("a", 1),
        item("b", 2),
        item("c", 3, { publicationId: "p" }),
        item("m", 4, { targetId: mailbox, status: "ACKNOWLEDGED" }),
        item("h", 5),
        item("d", 1, { isBillable: false, sourceId: "a" }),
      ],
      attempts: [
        { itemId: "a", numbers: [1, 2], delivered: 1 },
        ...["b", "c", "h", "d"].map((itemId) => ({ itemId, numbers: [1], delivered: 1 })),
      ],
      publications: [{ id: "p", itemIds: ["c"] }],
      chargedItems: 5,
      left: { waiting: 0, leased: 0, messages: 0, polls: 0, runningReplays: 0 },
      handoffs: [{ itemId: "h", messages: 1, isPossibleDuplicate: false }],
      loggedSecrets: [],
    },
  };
}

/** Returns the facts with some fields of one stored item replaced. */
function withItem(facts: Facts, id: string, more: Partial<StoredItem>): Facts {
  return { ...facts, items: facts.items.map((one) => (one.id === id ? { ...one, ...more } : one)) };
}

function withoutItem(facts: Facts, id: string): Facts {
  return { ...facts, items: facts.items.filter((one) => one.id !== id) };
}

function withAttempts(facts: Facts, itemId: string, numbers: number[], delivered: number): Facts {
  return {
    ...facts,
    attempts: [...facts.attempts.filter((one) => one.itemId !== itemId), { itemId, numbers, delivered }],
  };
}

function withCall(history: History, ...calls: Call[]): History {
  return { ...history, calls: [...history.calls, ...calls] };
}

type World = ReturnType<typeof inOrder>;
const claimedAgain = call(
  { op: "claim", mailboxId: mailbox },
  { claims: [{ id: "m", token: "other" }] },
  { startedAtMs: 3.2, endedAtMs: 3.5 },
);

/** A violation, the check that must report it, and the change to the world that causes the violation. */
const wrong: [string, keyof typeof checks, (world: World) => Partial<World>][] = [
  ["an acknowledged item is lost", "accepted items end", ({ facts }) => ({ facts: withoutItem(facts, "a") })],
  [
    "an item of a publication is lost",
    "accepted items end",
    ({ facts }) => ({ facts: withoutItem(facts, "c") }),
  ],
  [
    "an item never ends",
    "accepted items end",
    ({ facts }) => ({ facts: withItem(facts, "a", { status: "RETRYING" }) }),
  ],
  [
    "an item is not listed",
    "accepted items end",
    ({ facts }) => ({ facts: withItem(facts, "a", { status: null }) }),
  ],
  [
    "nobody got a delivered item",
    "accepted items end",
    ({ history }) => ({
      history: { ...history, receipts: history.receipts.filter(({ id }) => id !== "b") },
    }),
  ],
  [
    "a delivery is not on record",
    "accepted items end",
    ({ facts }) => ({ facts: withAttempts(facts, "b", [1], 0) }),
  ],
  [
    "something is stored that nobody sent",
    "nothing is invented",
    ({ facts }) => ({ facts: { ...facts, items: [...facts.items, item("x", 77)] } }),
  ],
  [
    "an item that was sent once is stored twice",
    "nothing is invented",
    ({ facts }) => ({ facts: { ...facts, items: [...facts.items, item("x", 1)] } }),
  ],
  [
    "a refused item is stored",
    "nothing is invented",
    ({ history, facts }) => ({
      history: withCall(history, send(8, null, "x", { outcome: "fail", status: 402 })),
      facts: { ...facts, items: [...facts.items, item("x", 8)] },
    }),
  ],
  [
    "an item arrives with the payload of another",
    "nothing is invented",
    ({ history }) => ({ history: { ...history, receipts: [...history.receipts, receipt("a", 2)] } }),
  ],
  [
    "one key is answered with two ids",
    "one item per idempotency key",
    ({ history }) => ({ history: withCall(history, send(2, "k", "other")) }),
  ],
  [
    "one key is stored twice",
    "one item per idempotency key",
    ({ facts }) => ({ facts: { ...facts, items: [...facts.items, item("x", 2)] } }),
  ],
  [
    "an item is not charged",
    "one usage record per item",
    ({ facts }) => ({ facts: { ...facts, chargedItems: 4 } }),
  ],
  [
    "a replay is charged",
    "one usage record per item",
    ({ facts }) => ({ facts: { ...facts, chargedItems: 6 } }),
  ],
  [
    "an attempt is missing in between",
    "attempts are on record",
    ({ facts }) => ({ facts: withAttempts(facts, "a", [1, 3], 1) }),
  ],
  [
    "an item is delivered twice on record",
    "attempts are on record",
    ({ facts }) => ({ facts: withAttempts(facts, "a", [1, 2], 2) }),
  ],
  [
    "a delivery is on record that the receiver refused",
    "attempts are on record",
    ({ history }) => ({
      history: {
        ...history,
        receipts: history.receipts.map((one) => (one.id === "b" ? { ...one, answered: 500 } : one)),
      },
    }),
  ],
  [
    "two claims are active at once",
    "claims do not overlap",
    ({ history }) => ({ history: withCall(history, claimedAgain) }),
  ],
  [
    "a token that nobody got ends a message",
    "claims do not overlap",
    ({ history }) => ({
      history: withCall(history, call({ op: "ack", id: "m", token: "made up" }, { messageStatus: 200 })),
    }),
  ],
  [
    "an acknowledged message reads as unread",
    "claims do not overlap",
    ({ history }) => ({
      history: withCall(history, call({ op: "read", id: "m" }, { state: "UNREAD" }, { startedAtMs: 9100 })),
    }),
  ],
  [
    "a publication lacks an item",
    "publications are whole",
    ({ facts }) => ({ facts: { ...facts, publications: [{ id: "p", itemIds: ["c", "lost"] }] } }),
  ],
  [
    "a publication's items are without it",
    "publications are whole",
    ({ facts }) => ({ facts: { ...facts, publications: [] } }),
  ],
  [
    "an agent is asked twice",
    "one task per handoff",
    ({ facts }) => ({
      facts: { ...facts, handoffs: [{ itemId: "h", messages: 2, isPossibleDuplicate: false }] },
    }),
  ],
  [
    "a replay makes two of one",
    "replays make one of each",
    ({ facts }) => ({
      facts: {
        ...facts,
        items: [...facts.items, item("e", 1, { isBillable: false, sourceId: "a" })],
      },
    }),
  ],
  [
    "a request is answered with 500",
    "answers are documented ones",
    ({ history }) => ({
      history: withCall(history, send(9, null, "x", { outcome: "unknown", status: 500 })),
    }),
  ],
  [
    "a proper request is refused",
    "answers are documented ones",
    ({ history }) => ({ history: withCall(history, send(9, null, "x", { outcome: "fail", status: 401 })) }),
  ],
  [
    "a process ends by itself",
    "answers are documented ones",
    ({ history }) => ({
      history: {
        ...history,
        ends: [
          { service: "s", isAsked: false, isStarting: false, how: "code 1", lastWords: "TypeError", atMs: 0 },
        ],
      },
    }),
  ],
  [
    "a claim lists a later message first",
    "claims keep the order",
    ({ history }) => ({
      history: withCall(
        history,
        send(7, null, "x", { startedAtMs: 10, endedAtMs: 11 }),
        send(8, null, "y", { startedAtMs: 12, endedAtMs: 13 }),
        call(
          { op: "claim", mailboxId: mailbox },
          { claims: ["y", "x"].map((id) => ({ id, token: "t" })) },
          { startedAtMs: 14, endedAtMs: 15 },
        ),
      ),
    }),
  ],
  [
    "a key is logged",
    "logs keep secrets",
    ({ facts }) => ({ facts: { ...facts, loggedSecrets: ["an API key"] } }),
  ],
  [
    "a prepared transaction stays on a node",
    "nothing is left",
    ({ facts }) => ({ facts: { ...facts, left: { ...facts.left, preparedTransactions: 1 } } }),
  ],
  [
    "a lease stays",
    "nothing is left",
    ({ facts }) => ({ facts: { ...facts, left: { ...facts.left, leased: 1 } } }),
  ],
];

describe("the checks of a run", () => {
  it.each(Object.entries(checks))("%s finds nothing in a world without violations", (_name, check) => {
    const { history, facts } = inOrder();
    expect(check(history, facts)).toEqual([]);
  });

  it.each(wrong)("%s finds the violation “%s”", (_what, name, harm) => {
    const world = inOrder();
    const { history, facts } = { ...world, ...harm(world) };
    expect(checks[name]!(history, facts)).not.toEqual([]);
  });

  it("every check has a violation that it finds", () => {
    expect(new Set(wrong.map(([, name]) => name))).toEqual(new Set(Object.keys(checks)));
  });
});
