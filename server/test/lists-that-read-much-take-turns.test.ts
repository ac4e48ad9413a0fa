import { expect } from "vitest";
import { readLimits, type ReadKind } from "../src/http/contract/readTurns.ts";
import { sharedNodeTest } from "./support/fixtures.ts";
import { storeMailboxTargets } from "./support/storedItems.ts";
import { leastRoundTripsOf } from "./support/roundTrips.ts";
import { unknownId } from "./support/routeRows.ts";
import type { Answer } from "./support/testNode.ts";

const it = sharedNodeTest();

const quotaOf = (kind: ReadKind): number => readLimits[kind].inFlight + readLimits[kind].waiting;
const statuses = (answers: readonly Answer[]): number[] => [...new Set(answers.map(({ status }) => status))];
const paths = {
  searches: [
    "/events?status=FAILED&event_type=order.paid",
    "/events?correlation_id=c&event_type=order.paid&order=asc",
    "/events?offset=1001",
    `/audit-log?action=target.updated&object_id=${unknownId}`,
  ],
  lists: [
    "/events?status=QUEUED",
    "/events?status=UNREAD&limit=1",
    "/events?customer_uid=ada",
    `/publications/${unknownId}`,
  ],
  free: [
    "/events",
    "/events?event_type=order.paid",
    "/events?correlation_id=c",
    "/events?status=DELIVERED",
    "/events?status=FAILED&order=asc",
    "/events?handoff_state=WORKING&offset=1000",
    "/publications?customer_uid=ada",
    "/audit-log?action=target.updated",
    "/targets",
    "/customers",
  ],
};

it.for(["searches", "lists"] as const)(
  "an organization's %s take turns, and are refused with 429 when too many wait; other organizations are not affected",
  async (kind, { node, own: { account }, account: other }) => {
    const quota = quotaOf(kind);
    const get = (key: string, n: number) =>
      node.call("GET", `/api/v1${paths[kind][n % paths[kind].length]}`, { key });
    const [asked, others] = await Promise.all([
      Promise.all(Array.from({ length: quota * 3 }, (_, n) => get(account.api_key, n))),
      get(other.api_key, 0),
    ]);
    expect(others.status).toBe(200);
    const refused = asked.filter(({ status }) => status === 429);
    expect(refused.length).toBeGreaterThan(0);
    for (const { headers, body } of refused) {
      expect(headers).toMatchObject({
        "retry-after": String(readLimits[kind].retryAfterSeconds),
        ratelimit: `"${kind}";r=0;t=${readLimits[kind].retryAfterSeconds}`,
        "ratelimit-policy": `"${kind}";q=${quota};qu="concurrent-requests"`,
        "x-error-code": "too_many_at_once",
      });
      expect(body.error).toContain("too many concurrent requests");
    }
    expect((await get(account.api_key, 0)).status).toBe(200);
  },
);

it("lists in the order of an index are never refused, and neither are the simultaneous requests of one dashboard page", async ({
  node,
  own: { account },
}) => {
  const get = (path: string) => node.call("GET", `/api/v1${path}`, { key: account.api_key });
  // More than any quota, and few enough for a busy machine to answer within the database's time limit.
  const count = Math.max(quotaOf("searches"), quotaOf("lists")) * 3;
  const many = Array.from({ length: count }, (_, n) => get(paths.free[n % paths.free.length]!));
  expect(statuses(await Promise.all(many))).toEqual([200]);
  const page = [...paths.searches.slice(0, 3), ...paths.lists.slice(0, 2), "/stats?from=0"].map((path) =>
    get(path.replace("from=0", `from=${Math.floor(Date.now() / 1000) - 3_600}`)),
  );
  expect(statuses(await Promise.all(page))).toEqual([200]);
});

it("an organization imports one event type catalogue at a time", async ({ node, own: { account } }) => {
  const operation = { requestBody: { content: { "application/json": { schema: { type: "object" } } } } };
  const body = {
    openapi: "3.1.0",
    info: { title: "Shop", version: "1" },
    webhooks: { "order.paid": { post: operation } },
  };
  const answers = await Promise.all(
    Array.from({ length: quotaOf("imports") * 4 }, () =>
      node.call("POST", "/api/v1/event-types/import?dry_run=true", { key: account.api_key, body }),
    ),
  );
  expect(new Set(statuses(answers))).toEqual(new Set([200, 429]));
});

it("the targets of a large organization are read by pages of a thousand, so that other requests run in between", async ({
  node,
  pool,
  own: { account },
}) => {
  await storeMailboxTargets(pool, account.user.org_id, 2_500);
  const get = (path: string) => node.call("GET", `/api/v1${path}`, { key: account.api_key });
  const statementsOf = (path: string): Promise<number> => leastRoundTripsOf(node.pool, () => get(path));
  const { targets } = (await get("/targets")).body;
  expect(new Set(targets.map(({ id }: { id: string }) => id)).size).toBe(2_500);
  expect((await statementsOf("/targets")) - (await statementsOf("/targets?limit=1"))).toBe(2);
});
