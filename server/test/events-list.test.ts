import { describe, expect } from "vitest";
import { eventStatuses } from "../src/items/eventStatuses.ts";
import { bucketOf, newId } from "../src/postgres/ids.ts";
import { dayMs, ensurePartitions } from "../src/postgres/partitions.ts";
import { createWebhookTarget, sendItem } from "./support/items.ts";
import { correlatedIds, storeManyEvents } from "./support/manyEvents.ts";
import { type Account, type Answer, signUp, type TestNode } from "./support/testNode.ts";
import { file, nodeTest } from "./support/fixtures.ts";
import {
  removeEvents,
  storeAttempts,
  storeEvents,
  storeHandoffs,
  storeMessages,
} from "./support/storedEvents.ts";
import { storeApiKey, storeTarget } from "./support/storedItems.ts";

const it = nodeTest({ POSTRIDER_ROLES: "api" })
  .extend(
    "list",
    file,
    ({ account, node }) =>
      (query = "", { api_key: key }: Account = account): Promise<Answer> =>
        node.call("GET", `/api/v1/events${query}`, { key }),
  )
  .extend(
    "listed",
    file,
    ({ account, list }) =>
      async (query: string, owner: Account = account): Promise<Summary[]> => {
        const answer = await list(query, owner);
        expect(answer.status).toBe(200);
        return answer.body.events;
      },
  )
  /** Every event that a filter lists, page by page. */
  .extend(
    "everyPage",
    file,
    ({ node }) =>
      (filter: string) =>
        everyPage(node, `limit=100${filter}`, "before"),
  )
  /** Every event that a filter lists, page by page, oldest first. */
  .extend(
    "everyPageUp",
    file,
    ({ node }) =>
      (filter: string) =>
        everyPage(node, `limit=100&order=asc${filter}`, "after"),
  );

let key: string;

async function everyPage(node: TestNode, query: string, from: "before" | "after"): Promise<Summary[]> {
  const events: Summary[] = [];
  for (;;) {
    const last = events.length === 0 ? "" : `&${from}=${events.at(-1)!.id}`;
    const answer = await node.call("GET", `/api/v1/events?${query}${last}`, { key });
    expect(answer.status).toBe(200);
    events.push(...answer.body.events);
    if (answer.body.events.length < 100) return events;
  }
}

it.beforeAll(({ node }) => ensurePartitions(node.pool, Date.now()));

interface Summary {
  id: string;
  endpoint_id: string;
  event_type: string;
  status: string;
  created_at: number;
  updated_at: number;
}

describe("the list of events", () => {
  it("has the fields of the contract and no others, newest first", async ({ node }) => {
    const owner = await signUp(node);
    const { id: targetId } = await createWebhookTarget(node, owner, "https://8.8.8.8/");
    const first = await sendItem(node, owner, targetId, { event_type: "a" });
    const second = await sendItem(node, owner, targetId, { no: "type" });
    const seconds = expect.closeTo(Date.now() / 1000, -3);
    const common = { endpoint_id: targetId, status: "QUEUED", created_at: seconds, updated_at: seconds };
    for (const credential of [{ key: owner.api_key }, { session: owner.session_token }]) {
      const answer = await node.call("GET", "/api/v1/events", credential);
      expect(answer.status).toBe(200);
      expect(answer.body).toEqual({
        events: [
          { id: second, event_type: null, ...common },
          { id: first, event_type: "a", ...common },
        ],
      });
    }
  });

  it("is paged by offset or by the last event seen, 50 at a time by default", async ({ node, listed }) => {
    const owner = await signUp(node);
    const { id: targetId } = await createWebhookTarget(node, owner, "https://8.8.8.8/");
    const nowMs = Date.now();
    const ids = Array.from({ length: 120 }, (_, index) => newId(bucketOf(targetId), nowMs - index * 10));
    await storeEvents(node.pool, { orgId: owner.user.org_id, targetId, ids });
    const idsOf = async (query: string) => (await listed(query, owner)).map((event) => event.id);
    expect(await idsOf("")).toEqual(ids.slice(0, 50));
    expect(await idsOf("?limit=100")).toEqual(ids.slice(0, 100));
    expect(await idsOf("?limit=7&offset=110")).toEqual(ids.slice(110, 117));
    expect(await idsOf("?limit=100&offset=100")).toEqual(ids.slice(100));
    expect(await idsOf("?offset=120")).toEqual([]);
    expect(await idsOf("?offset=1000000")).toEqual([]);
    expect(await idsOf(`?before=${ids[49]!}`)).toEqual(ids.slice(50, 100));
    expect(await idsOf(`?before=${ids[49]!}&limit=2&offset=3`)).toEqual(ids.slice(53, 55));
    expect(await idsOf(`?before=${ids.at(-1)!}`)).toEqual([]);
    expect(await idsOf(`?before=${"f".repeat(32)}&limit=1`)).toEqual([ids[0]]);
  });

  it.for<[string, string]>([
    ["limit=0", "limit must be at least 1"],
    ["limit=101", "limit must be at most 100"],
    ["limit=-1", "limit must be at least 1"],
    ["limit=x", "limit must be an integer"],
    ["limit=1.5", "limit must be an integer"],
    ["limit=1e1", "limit must be an integer"],
    ["limit=", "limit must be an integer"],
    ["limit=1&limit=2", "limit is given more than once"],
    ["limit=99999999999999999999", "limit must be"],
    ["offset=-1", "offset must be at least 0"],
    ["offset=1000001", "offset must be at most 1000000"],
    ["status=LOST", "status must be one of"],
    ["status=queued", "status must be one of"],
    ["status=QUEUED&status=FAILED", "status"],
    ["before=x", "before"],
    ["before=%00", "before"],
    ["correlation_id=a%20b", "correlation_id"],
    ["correlation_id=%00", "correlation_id"],
    [`correlation_id=${"x".repeat(129)}`, "correlation_id"],
    ["order=down", "order"],
    ["after=x", "after"],
    ["event_type=", "event_type"],
    ["event_type=%00", "event_type"],
    [`event_type=${"x".repeat(257)}`, "event_type"],
    ["handoff_state=working", "handoff_state"],
    ["created_after=yesterday", "created_after must be an integer: a time in Unix seconds"],
    ["created_before=-1", "created_before must be at least 0"],
    [
      "created_before=253402300800",
      "created_before must be at most 253402300799: a time in Unix seconds, not in milliseconds",
    ],
    [
      "fields=attempts,colour",
      "fields must be a list of attempts, last_status_code, next_attempt_at, duration_ms",
    ],
    ["fields=", "fields must be a list of"],
    [`endpoint_id=${"0".repeat(32)}&target_id=${"1".repeat(32)}`, "endpoint_id and target_id"],
  ])("refuses ?%s with 400", async ([query, message], { list }) => {
    expect(await list(`?${query}`)).toMatchObject({
      status: 400,
      body: { error: expect.stringContaining(message) },
    });
  });

  it.for([
    "endpoint_id=x",
    "target_id=%00",
    `endpoint_id=${"0".repeat(32)}`,
    "correlation_id=nothing",
    "event_type=nothing%20of%20that",
    "handoff_state=WORKING",
    "created_before=0",
    "created_after=253402300799",
  ])("is empty for ?%s in an organization without such events", async (query, { list }) => {
    expect(await list(`?${query}`)).toMatchObject({ status: 200, body: { events: [] } });
  });

  it("never shows another organization's events, under any filter", async ({ node, listed }) => {
    const [owner, other] = [await signUp(node), await signUp(node)];
    const { id: targetId } = await createWebhookTarget(node, owner, "https://8.8.8.8/");
    const headers = { "x-correlation-id": "shared" };
    await node.call("POST", `/t/${targetId}`, {
      key: owner.api_key,
      body: { event_type: "shared.type" },
      headers,
    });
    for (const query of [
      "",
      `?target_id=${targetId}`,
      `?target_id=${targetId}&status=QUEUED`,
      "?correlation_id=shared",
      `?correlation_id=shared&target_id=${targetId}`,
      "?status=QUEUED",
      "?order=asc&event_type=shared.type",
      "?correlation_id=shared&status=QUEUED&event_type=shared.type",
      `?created_after=1`,
      `?before=${"f".repeat(32)}`,
    ]) {
      expect(await listed(query, owner)).toHaveLength(1);
      expect(await listed(query, other)).toEqual([]);
    }
    await node.call("DELETE", `/api/v1/targets/${targetId}`, { key: owner.api_key });
    expect(await listed(`?target_id=${targetId}`, owner)).toMatchObject([{ status: "CANCELED" }]);
    expect(await listed(`?target_id=${targetId}`, other)).toEqual([]);
  });
});

describe("over events of every status", () => {
  let all: Summary[];
  let correlated: Set<string>;
  let orgId: string;

  it.beforeAll(async ({ node, everyPage }) => {
    const many = await storeManyEvents(node.pool, 6_000);
    // The organization gets the API key of an account that has signed up.
    const owner = await signUp(node);
    await storeApiKey(node.pool, many.orgId, owner.api_key);
    key = owner.api_key;
    all = await everyPage("");
    orgId = many.orgId;
    correlated = await correlatedIds(node.pool, many);
  });

  it("the list without a filter has each event once, newest first, and the data has every status", () => {
    const ids = all.map((event) => event.id);
    expect(ids.length).toBeGreaterThan(3_000);
    expect(ids).toEqual([...new Set(ids)].sort().reverse());
    expect([...new Set(all.map((event) => event.status))].sort()).toEqual(eventStatuses.toSorted());
  });

  it.for(eventStatuses)(
    "the list of %s has the events that read as that status, alone and with a target",
    async (status, { everyPage }) => {
      const expected = all.filter((event) => event.status === status);
      expect(await everyPage(`&status=${status}`)).toEqual(expected);
      const targetIds = [...new Set(expected.map((event) => event.endpoint_id))].slice(0, 2);
      for (const targetId of targetIds) {
        const ofTarget = expected.filter((event) => event.endpoint_id === targetId);
        expect(await everyPage(`&status=${status}&target_id=${targetId}`)).toEqual(ofTarget);
      }
      const ofCorrelation = expected.filter((event) => correlated.has(event.id));
      expect(await everyPage(`&status=${status}&correlation_id=c-10`)).toEqual(ofCorrelation);
    },
  );

  it("lists by target, by correlation id and by both have the matching events", async ({ everyPage }) => {
    const targetIds = [...new Set(all.map((event) => event.endpoint_id))];
    expect(targetIds).toHaveLength(10);
    for (const targetId of targetIds) {
      const ofTarget = all.filter((event) => event.endpoint_id === targetId);
      expect(await everyPage(`&endpoint_id=${targetId}`)).toEqual(ofTarget);
      const both = ofTarget.filter((event) => correlated.has(event.id));
      expect(await everyPage(`&endpoint_id=${targetId}&correlation_id=c-10`)).toEqual(both);
    }
    expect(await everyPage("&correlation_id=c-10")).toEqual(all.filter((event) => correlated.has(event.id)));
  });

  it.for(eventStatuses)("%s is reversed when the oldest come first", async (status, { everyPageUp }) => {
    const expected = all.filter((event) => event.status === status).reverse();
    expect(await everyPageUp(`&status=${status}`)).toEqual(expected);
    const { endpoint_id: targetId } = expected[0]!;
    const ofTarget = expected.filter((event) => event.endpoint_id === targetId);
    expect(await everyPageUp(`&status=${status}&target_id=${targetId}`)).toEqual(ofTarget);
    const ofCorrelation = expected.filter((event) => correlated.has(event.id));
    expect(await everyPageUp(`&status=${status}&correlation_id=c-10`)).toEqual(ofCorrelation);
  });

  it("an event type can be combined with each filter", async ({ everyPage, everyPageUp }) => {
    const types = [...new Set(all.map((event) => event.event_type))].sort();
    expect(types).toEqual(["order.made", "order.rare"]);
    for (const type of types) {
      const ofType = all.filter((event) => event.event_type === type);
      expect(await everyPage(`&event_type=${type}`)).toEqual(ofType);
      expect(await everyPageUp(`&event_type=${type}`)).toEqual(ofType.toReversed());
      for (const status of eventStatuses) {
        const both = ofType.filter((event) => event.status === status);
        expect(await everyPage(`&event_type=${type}&status=${status}`)).toEqual(both);
        const { endpoint_id: targetId } = (both[0] ?? ofType[0])!;
        const allThree = both.filter((event) => event.endpoint_id === targetId);
        expect(await everyPage(`&event_type=${type}&status=${status}&target_id=${targetId}`)).toEqual(
          allThree,
        );
      }
      const correlatedToo = ofType.filter((event) => correlated.has(event.id));
      expect(await everyPage(`&event_type=${type}&correlation_id=c-10`)).toEqual(correlatedToo);
    }
  });

  it("a range of time has the events accepted in it, including its beginning", async ({
    everyPage,
    everyPageUp,
  }) => {
    const [from, until] = [all[1_400]!.created_at, all[700]!.created_at];
    const expected = all.filter(({ created_at: at }) => at >= from && at < until);
    expect(expected.length).toBeGreaterThan(600);
    const range = `&created_after=${from}&created_before=${until}`;
    expect(await everyPage(range)).toEqual(expected);
    expect(await everyPageUp(range)).toEqual(expected.toReversed());
    for (const status of ["QUEUED", "DELIVERED", "FAILED", "ACKNOWLEDGED"]) {
      const both = expected.filter((event) => event.status === status);
      expect(await everyPage(`${range}&status=${status}`)).toEqual(both);
      expect(await everyPageUp(`${range}&status=${status}`)).toEqual(both.toReversed());
    }
  });

  it("the state of a handoff can be filtered alone, with a target, and with other filters", async ({
    node,
    everyPage,
    everyPageUp,
  }) => {
    const agent = await storeTarget(node.pool, orgId, { kind: "a2a", url: "https://8.8.8.8/" });
    // The events lie between the others in time, so that they do not change the newest and oldest events that
    // other tests expect.
    const newestMs = Date.now() - 3 * dayMs;
    const ids = Array.from({ length: 12 }, (_, index) => newId(bucketOf(agent), newestMs - index * 1000));
    const events = { orgId, targetId: agent, ids };
    await storeEvents(node.pool, events, { kind: 3, eventType: "task" });
    const tell = (some: string[], state: string | null, outcome: string | null): Promise<void> =>
      storeHandoffs(node.pool, { ...events, ids: some }, { state, outcome });
    await tell(ids.slice(0, 2), null, "COMPLETED");
    await tell(ids.slice(2, 4), "COMPLETED", "COMPLETED");
    await tell(ids.slice(4), "WORKING", null);
    await storeAttempts(node.pool, events, 1);
    const idsOf = (events: Summary[]): string[] => events.map((event) => event.id);
    for (const target of ["", `&target_id=${agent}`]) {
      expect(idsOf(await everyPage(`&handoff_state=WORKING${target}`))).toEqual(ids.slice(4));
      expect(idsOf(await everyPage(`&handoff_state=COMPLETED${target}`))).toEqual(ids.slice(0, 4));
      expect(idsOf(await everyPageUp(`&handoff_state=COMPLETED${target}`))).toEqual(
        ids.slice(0, 4).reverse(),
      );
      expect(
        idsOf(await everyPage(`&handoff_state=WORKING&event_type=task&status=DELIVERED${target}`)),
      ).toEqual(ids.slice(4));
    }
    const webhook = all[0]!.endpoint_id;
    expect(await everyPage(`&handoff_state=WORKING&target_id=${webhook}`)).toEqual([]);
    await removeEvents(node.pool, ids);
  });

  it("an offset skips the same events as the pages before it", async ({ node }) => {
    for (const status of ["QUEUED", "RETRYING", "DELIVERED", "FAILED", "UNREAD", "ACKNOWLEDGED"]) {
      const expected = all.filter((event) => event.status === status).slice(3, 8);
      const answer = await node.call("GET", `/api/v1/events?status=${status}&offset=3&limit=5`, { key });
      expect(answer.body.events).toEqual(expected);
    }
  });

  it("unread messages beyond the sorting limit are listed as well", async ({ node }) => {
    const mailbox = all.find((event) => event.status === "UNREAD")!.endpoint_id;
    const unread = all.filter((event) => event.status === "UNREAD");
    const newest = unread.filter((event) => event.endpoint_id === mailbox);
    // Older than the others and within retention, so that the first page stays the same.
    const ids = Array.from({ length: 10_100 }, () => newId(bucketOf(mailbox), Date.now() - 6 * dayMs));
    const events = { orgId, targetId: mailbox, ids };
    await storeEvents(node.pool, events, { kind: 2 });
    await storeMessages(node.pool, events);
    const first = async (filter: string): Promise<Summary[]> =>
      (await node.call("GET", `/api/v1/events?limit=20&status=UNREAD${filter}`, { key })).body.events;
    expect(await first("")).toEqual(unread.slice(0, 20));
    expect(await first(`&target_id=${mailbox}`)).toEqual(newest.slice(0, 20));
  });
});
