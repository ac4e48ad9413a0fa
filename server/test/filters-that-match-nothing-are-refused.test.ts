import { describe, expect } from "vitest";
import { createWebhookTarget, sendItem } from "./support/items.ts";
import { createMailbox } from "./support/mailbox.ts";
import { file, sharedNodeTest } from "./support/fixtures.ts";

const it = sharedNodeTest({ POSTRIDER_ROLES: "api" }).extend("mailbox", file, ({ node, account }) =>
  createMailbox(node, {}, account),
);

describe("an unknown or repeated query parameter is 400", () => {
  it.for([
    ["/api/v1/events?statuz=FAILED", '"statuz" is not a query parameter of this route: did you mean status?'],
    ["/api/v1/events?limit=5&limit=6", "limit is given more than once"],
    ["/api/v1/stream?types=item&types=target", "types is given more than once"],
    ["/api/v1/events?Limit=5", '"Limit" is not a query parameter of this route: did you mean limit?'],
    [
      "/api/v1/events?limit=5&type=a",
      expect.stringMatching(
        /^"type" is not a query parameter of this route: the route takes limit, .*event_type, .*fields$/,
      ),
    ],
    [
      "/api/v1/targets?customer=shop-7",
      '"customer" is not a query parameter of this route: the route takes kind, limit, after, customer_uid, uid',
    ],
    ["/api/v1/keys?limit=1", '"limit" is not a query parameter of this route: the route takes no parameters'],
    [
      "/api/v1/endpoints?__proto__=1",
      '"__proto__" is not a query parameter of this route: the route takes no parameters',
    ],
  ] as const)("%s", async ([path, error], { call }) => {
    expect(await call("GET", path)).toMatchObject({ status: 400, body: { error } });
  });

  it("for a mailbox's messages", async ({ call, mailbox }) => {
    const answer = await call("GET", `/api/v1/mailboxes/${mailbox.id}/messages?state=UNREAD`);
    expect(answer).toMatchObject({
      status: 400,
      body: { error: '"state" is not a query parameter of this route: the route takes status, limit, after' },
    });
    const message = await mailbox.send({});
    expect((await call("GET", `/api/v1/mailbox-messages/${message}?claim=1`)).status).toBe(400);
  });

  it("is not revealed without a credential", async ({ node }) => {
    expect((await node.call("GET", "/api/v1/events?statuz=FAILED")).status).toBe(401);
    expect((await node.call("GET", "/healthz?probe=1")).status).toBe(200);
  });
});

it("a status that does not exist is 400, and the message lists the existing statuses", async ({
  call,
  mailbox,
}) => {
  expect(await call("GET", "/api/v1/events?status=PENDING")).toMatchObject({
    status: 400,
    body: { error: expect.stringMatching(/^status must be one of QUEUED, RETRYING, DELIVERED, .*, DEAD$/) },
  });
  expect(await call("GET", `/api/v1/mailboxes/${mailbox.id}/messages?status=QUEUED`)).toMatchObject({
    status: 400,
    body: { error: "status must be one of UNREAD, CLAIMED, ACKNOWLEDGED, EXPIRED, DEAD" },
  });
});

describe("an event type that can match nothing is 400", () => {
  it.for([
    [["order*"], "event_types.0 cannot match any type: * is allowed only at the end, after a dot"],
    [["*.paid"], "event_types.0 cannot match any type"],
    [[".*"], "event_types.0 cannot match any type"],
    [["a", "*"], "event_types.1 cannot match any type"],
    [["a", " b"], "event_types.1 cannot match any type: a type must not begin or end with a blank"],
    [["a\n"], "event_types.0"],
    [[""], "event_types.0 must not be empty"],
    [["x".repeat(257)], "event_types.0 must be at most 256 characters"],
  ] as const)(
    "%j, at creation and at a change, on both routes",
    async ([event_types, message], { node, account, call }) => {
      const { id } = await createWebhookTarget(node, account, "https://8.8.8.8/hooks", {
        event_types: ["a"],
      });
      const url = "https://8.8.8.8/hooks";
      for (const [method, path, body] of [
        ["POST", "/api/v1/targets", { kind: "webhook", name: "w", url, event_types }],
        ["POST", "/api/v1/endpoints", { name: "w", url, event_types }],
        ["PATCH", `/api/v1/targets/${id}`, { event_types }],
        ["PATCH", `/api/v1/endpoints/${id}`, { event_types }],
      ] as const) {
        const answer = await node.call(method, path, { key: account.api_key, body });
        expect(answer).toMatchObject({ status: 400, body: { error: expect.stringContaining(message) } });
      }
      expect((await call("GET", `/api/v1/targets/${id}`)).body.event_types).toEqual(["a"]);
    },
  );
});

it("a number that JSON cannot represent is 400, and the target stays unchanged", async ({
  node,
  account,
  mailbox,
}) => {
  const authorization = `Bearer ${account.api_key}`;
  const target = `/api/v1/targets/${mailbox.id}`;
  for (const [method, url, payload, fault] of [
    [
      "PATCH",
      target,
      '{"filter":{"payload":{"n":[1e400]}}}',
      "filter.payload.n.0 is a number beyond 1.79e308",
    ],
    [
      "PATCH",
      target,
      '{"filter":{"payload":{"n":[{"numeric":["<",1e400]}]}}}',
      "filter.payload.n.0.numeric.1 is a number beyond 1.79e308",
    ],
    ["PATCH", target, '{"metadata":{"n":-1e400}}', "metadata.n is a number beyond 1.79e308"],
    ["PUT", "/api/v1/event-types/of.numbers", '{"example":1e400}', "example is a number beyond 1.79e308"],
    ["PUT", "/api/v1/event-types/of.numbers", "1e400", "the body is a number beyond 1.79e308"],
    [
      "PUT",
      "/api/v1/event-types/of.numbers",
      '{"example":{"id":12345678901234567891}}',
      "example.id is a whole number beyond 9007199254740991",
    ],
  ] as const) {
    const headers = { authorization, "content-type": "application/json" };
    const answer = await node.service.app.inject({ method, url, headers, payload });
    expect([answer.statusCode, answer.json()]).toEqual([
      400,
      { error: expect.stringMatching(new RegExp(`^${fault}, which .*: give it as a string$`)) },
    ]);
  }
  await mailbox.send({ n: 1 });
});

it("a number that a schema or a filter compares as a double may be of any size", async ({
  node,
  account,
}) => {
  const answer = await node.service.app.inject({
    method: "PUT",
    url: "/api/v1/event-types/of.limits",
    headers: { authorization: `Bearer ${account.api_key}`, "content-type": "application/json" },
    payload: '{"schema":{"type":"integer","maximum":9223372036854775807}}',
  });
  expect(answer.statusCode).toBe(200);
});

it("the event type of an item without one is null wherever it is shown", async ({
  node,
  account,
  mailbox,
  call,
}) => {
  const { id: targetId } = await createWebhookTarget(node, account, "https://8.8.8.8/hooks");
  const [event, message] = [await sendItem(node, account, targetId), await mailbox.send({})];
  const shown = [
    (await call("GET", `/api/v1/events/${event}`)).body.event,
    (await call("GET", `/api/v1/events/${message}`)).body.event,
    ...(await call("GET", "/api/v1/events?limit=2")).body.events,
    (await mailbox.read(message)).body,
    ...(await mailbox.list()).filter(({ id }) => id === message),
  ];
  expect(shown.map(({ event_type: type }) => type)).toEqual(Array.from({ length: 6 }, () => null));
});
