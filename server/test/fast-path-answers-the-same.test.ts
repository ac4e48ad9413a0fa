import { describe, expect, onTestFinished } from "vitest";
import { createWebhookTarget, createMailboxTarget } from "./support/items.ts";
import {
  type ItemParts,
  itemBytes,
  onFrameworkPath,
  onFastPath,
  headersWith,
  requestBytes,
} from "./support/plainRequest.ts";
import { exchangeBytes, openRawConnection, opener, type WireAnswer } from "./support/rawConnection.ts";
import { type Account, signUp } from "./support/testNode.ts";
import { file, sharedServiceTest } from "./support/fixtures.ts";
import { writtenSoFar } from "./support/writtenLines.ts";
import { setBillingStatus } from "./support/storedStates.ts";

/** Ids by the name of the thing. */
const ids: Record<string, string> = {};
const keys: Record<string, string> = {};

const it = sharedServiceTest()
  .extend("makeTargets", file, ({ service, receiver, account, pool }) => async (): Promise<void> => {
    const make = async (owner: Account, fields?: Record<string, unknown>): Promise<string> =>
      (await createWebhookTarget(service, owner, receiver.url, fields)).id;
    const { api_key: key } = account;
    ids["webhook"] = await make(account);
    ids["small"] = await make(account, { max_payload_bytes: 20 });
    ids["disabled"] = await make(account);
    ids["disabled mailbox"] = await createMailboxTarget(service, account);
    for (const disabled of ["disabled", "disabled mailbox"]) {
      await service.call("PATCH", `/api/v1/targets/${ids[disabled]}`, { key, body: { enabled: false } });
    }
    ids["mailbox"] = await createMailboxTarget(service, account);
    ids["empty"] = await createMailboxTarget(service, account);
    ids["unknown"] = "0192f1c3a5b87abc8def0123456789ab";
    for (const status of ["foreign", "suspended", "pending"]) {
      const other = await signUp(service);
      keys[status] = other.api_key;
      ids[status] = await make(other);
      if (status === "foreign") continue;
      await setBillingStatus(pool, other.user, status);
    }
  })
  .extend("makeKeys", file, ({ account, service }) => async (): Promise<void> => {
    keys["own"] = account.api_key;
    keys["unknown"] = `ak_live_${"0".repeat(64)}`;
    const { body } = await service.call("POST", "/api/v1/keys", {
      session: account.session_token,
      body: { name: "second" },
    });
    keys["revoked"] = body.key;
    await service.call("DELETE", `/api/v1/keys/${body.id}`, { key: account.api_key });
  })
  .extend("open", file, opener)
  .extend(
    "exchange",
    file,
    ({ service }) =>
      (request: Buffer | string) =>
        exchangeBytes(service.port, request),
  )
  .extend(
    "ask",
    file,
    ({ exchange }) =>
      async (way: typeof onFastPath, asked: Asked): Promise<WireAnswer> => {
        const { path, body, more = [], key = "own" } = asked;
        const line = `POST /api/v1/${path} HTTP/1.1`;
        const request = requestBytes({ line, headers: headersWith(keys[key]!), more, body });
        return withoutChance(await exchange(way(request)));
      },
  )
  .extend("makeCustomers", file, ({ service, receiver }) => async (): Promise<void> => {
    const publisher = await signUp(service);
    const key = publisher.api_key;
    keys["publisher"] = key;
    for (const uid of ["reached", "nobody-listens"])
      await service.call("PUT", `/api/v1/customers/${uid}`, { key, body: {} });
    const fields = { customer_uid: "reached", max_payload_bytes: 1_000 };
    await createWebhookTarget(service, publisher, receiver.url, fields);
    await createMailboxTarget(service, publisher, { customer_uid: "reached" });
    await createMailboxTarget(service, publisher);
  })
  .extend(
    "publish",
    file,
    ({ exchange }) =>
      async (way: typeof onFastPath, asked: Asked): Promise<WireAnswer> => {
        const { path, body, more = [], key = "publisher" } = asked;
        const line = `POST /${path} HTTP/1.1`;
        const answer = await exchange(
          way(requestBytes({ line, headers: headersWith(keys[key]!), more, body })),
        );
        return withoutChance({
          ...answer,
          body: answer.body.replaceAll(/"id":"[0-9a-f]{32}"/g, '"id":"id"'),
        });
      },
  );

it.beforeAll(async ({ makeTargets, makeKeys, makeCustomers }) => {
  await makeTargets();
  await makeKeys();
  await makeCustomers();
});

interface Asked {
  path: string;
  body: string;
  more?: string[];
  /** A name in `keys`. */
  key?: string;
}

interface Item extends Pick<ItemParts, "path" | "body" | "more"> {
  /** Names in `ids` and `keys`. */
  target?: string;
  key?: string;
}

/** An item's request; fields that are not given have valid values. */
function bytesOf({ target = "webhook", key = "own", ...item }: Item = {}): Buffer {
  return itemBytes({ targetId: ids[target]!, key: keys[key]!, ...item });
}

/** An answer with the values that differ between any two answers (request id, date) replaced by constants. */
function withoutChance({ headers, body, ...answer }: WireAnswer): WireAnswer {
  return {
    ...answer,
    headers: headers.map(([name, value]) => {
      if (name === "x-request-id") return [name, value.replace(/^[0-9a-f]{20}$/, "request id")];
      if (name === "Date") return [name, value.replace(/^\w{3}, \d\d \w{3} \d{4} [\d:]{8} GMT$/, "date")];
      return [name, value];
    }),
    body: body.replace(/^\{"id":"[0-9a-f]{32}"/, '{"id":"id"'),
  };
}

const cases: [what: string, status: number, item: Item][] = [
  ["an item", 202, {}],
  ["an item for an endpoint", 202, { path: "e" }],
  ["an item for a mailbox", 202, { target: "mailbox" }],
  [
    "an item for a mailbox, with an ordering key",
    202,
    { target: "mailbox", more: ["X-Ordering-Key: a b\u00e9"] },
  ],
  [
    "an item with its type and correlation in headers",
    202,
    { more: ["X-Event-Type: a.b", "X-Correlation-ID: c-1"] },
  ],
  [
    "an item with headers that mean nothing here",
    202,
    {
      more: [
        "Accept: text/html",
        "Accept-Encoding: gzip",
        "Accept-Version: 2.x",
        "Cookie: a=b",
        "If-None-Match: *",
        "Keep-Alive: timeout=1",
        "Origin: https://elsewhere.example",
        "Access-Control-Request-Method: GET",
        "Range: bytes=0-0",
        "X-HTTP-Method-Override: DELETE",
        "X-Forwarded-For: nobody",
        "X-Request-Id: own",
        "X-Session-Token: nobody",
      ],
    },
  ],
  ["an item that asks to keep the connection", 202, { more: ["Connection: keep-alive"] }],
  ["an item that is no object", 202, { body: "[1, null]" }],
  ["a body beyond ASCII", 202, { body: '"\u00e4\u{1f600}"' }],
  ["an item of 50 KB", 202, { body: `"${"x".repeat(50_000)}"` }],
  ["an unknown key", 401, { key: "unknown" }],
  ["a revoked key", 401, { key: "revoked" }],
  ["a suspended organization", 402, { target: "suspended", key: "suspended" }],
  ["a pending organization", 403, { target: "pending", key: "pending" }],
  ["an unknown target", 404, { target: "unknown" }],
  ["another organization's target", 404, { target: "foreign" }],
  ["another organization's endpoint", 404, { target: "foreign", path: "e" }],
  ["a mailbox as an endpoint", 404, { target: "mailbox", path: "e" }],
  ["a disabled target", 202, { target: "disabled" }],
  ["a disabled mailbox", 409, { target: "disabled mailbox" }],
  ["a body over the target's limit", 413, { target: "small", body: `"${"x".repeat(30)}"` }],
  ["half a document", 400, { body: '{"a":' }],
  ["text that is no JSON", 400, { body: "{'a': 1}" }],
  ["a body of blanks", 400, { body: " \r\n" }],
  ["invalid UTF-8", 400, { body: Buffer.from([0x22, 0xc3, 0x22]) }],
  ["an event_type of another type", 400, { body: '{"event_type":7}' }],
  ["an event_type with a line feed", 400, { body: '{"event_type":"a\\nb"}' }],
  ["an empty Idempotency-Key", 400, { more: ["Idempotency-Key:"] }],
  ["an Idempotency-Key of 256", 400, { more: [`Idempotency-Key: ${"k".repeat(256)}`] }],
  ["an X-Correlation-ID with a blank", 400, { more: ["X-Correlation-ID: a b"] }],
  ["an X-Event-Type beyond ASCII", 400, { more: ["X-Event-Type: \u00e9"] }],
  ["an unknown key and half a document", 401, { key: "unknown", body: "{" }],
];

describe("a request gets the same answer on the fast path and in the framework:", () => {
  it.for(cases)("%s: %i", async ([_what, status, item], { exchange }) => {
    const request = bytesOf(item);
    const fast = await exchange(onFastPath(request));
    const framework = await exchange(onFrameworkPath(request));
    expect(fast.status).toBe(status);
    expect(withoutChance(fast)).toEqual(withoutChance(framework));
  });

  it.for<[string, number, string]>([
    ["the same body: replayed", 202, "{}"],
    ["another body: 409", 409, "[]"],
  ])("an Idempotency-Key that was used before, with %s", async ([what, status, body], { exchange }) => {
    const more = [`Idempotency-Key: ${what}`];
    const first = await exchange(bytesOf({ more }));
    const fast = await exchange(onFastPath(bytesOf({ more, body })));
    const framework = await exchange(onFrameworkPath(bytesOf({ more, body })));
    expect(fast.status).toBe(status);
    expect(withoutChance(fast)).toEqual(withoutChance(framework));
    expect(fast.body).toBe(framework.body);
    if (status !== 202) return;
    expect(fast.body).toBe(first.body);
    expect(fast.headers).toContainEqual(["idempotency-replayed", "true"]);
  });

  it("one key sent first on one path and then on the other is one item", async ({ exchange }) => {
    const more = ["Idempotency-Key: both ways \u00e9\u00a0"];
    const framework = await exchange(onFrameworkPath(bytesOf({ more })));
    const fast = await exchange(onFastPath(bytesOf({ more })));
    expect(fast.body).toBe(framework.body);
  });

  it("a request that is chunked, or arrives in two pieces", async ({ exchange, open }) => {
    const request = bytesOf().toString("latin1");
    const chunked = request
      .replace("Content-Length: 2", "Transfer-Encoding: chunked")
      .replace(/\{\}$/, "1\r\n{\r\n1\r\n}\r\n0\r\n\r\n");
    const fast = withoutChance(await exchange(onFastPath(bytesOf())));
    expect(withoutChance(await exchange(chunked))).toEqual(fast);
    const connection = await open();
    await connection.write(request.slice(0, 60));
    // An answer on another connection shows that the service has processed the first piece.
    await exchange("GET /healthz HTTP/1.1\r\nhost: x\r\n\r\n");
    await connection.write(request.slice(60));
    expect(withoutChance(await connection.answer())).toEqual(fast);
  });

  it("an item while the database is away", async ({ proxy, newService }) => {
    const cut = await newService({}, proxy.url);
    proxy.accepts = false;
    proxy.sever();
    const answers: WireAnswer[] = [];
    for (const request of [onFastPath(bytesOf()), onFrameworkPath(bytesOf())]) {
      const connection = await openRawConnection(cut.port);
      onTestFinished(() => connection.destroy());
      await connection.write(request);
      answers.push(withoutChance(await connection.answer()));
    }
    const [fast, framework] = answers;
    expect(fast!.status).toBe(503);
    expect(fast!.headers.map(([name]) => name)).toContain("retry-after");
    expect(fast).toEqual(framework);
  });
});

describe("a publication gets the same answer on both paths:", () => {
  it.for<[number, string, string, Pick<Asked, "more" | "key">?]>([
    [202, "p/reached", "{}"],
    [202, "p/nobody-listens", '{"event_type":"a.b"}'],
    [202, "p/reached", '"\u00e4\u{1f600}"', { more: ["X-Event-Type: a.b", "X-Correlation-ID: c-1"] }],
    [202, "p", "{}"],
    [400, "p/reached", '{"a":'],
    [400, "p", '{"event_type":7}'],
    [400, "p/reached", "{}", { more: ["X-Correlation-ID: a b"] }],
    [401, "p/reached", "{}", { key: "unknown" }],
    [401, "p", "{}", { key: "revoked" }],
    [402, "p", "{}", { key: "suspended" }],
    [403, "p", "{}", { key: "pending" }],
    [404, "p/unknown", "{}"],
    [404, `p/${"x".repeat(128)}`, "{}"],
    [404, "p/reached", "{}", { key: "foreign" }],
    [413, "p/reached", `"${"x".repeat(2_000)}"`],
  ])("%i for %s with %s %j", async ([status, path, body, others], { publish }) => {
    const fast = await publish(onFastPath, { path, body, ...others });
    expect(fast.status).toBe(status);
    expect(fast).toEqual(await publish(onFrameworkPath, { path, body, ...others }));
  });

  it.for<[number, string, boolean]>([
    [202, "{}", true],
    [409, "[]", false],
  ])(
    "%i for an Idempotency-Key that was used before, with %s",
    async ([status, body, isReplayed], { publish }) => {
      const asked = { path: "p/reached", body, more: [`Idempotency-Key: p${status}`] };
      await publish(onFastPath, { ...asked, body: "{}" });
      const fast = await publish(onFastPath, asked);
      expect(fast.status).toBe(status);
      expect(fast.headers.some(([name]) => name === "idempotency-replayed")).toBe(isReplayed);
      expect(fast).toEqual(await publish(onFrameworkPath, asked));
    },
  );
});

describe("consumers of a mailbox get the same answers on both paths:", () => {
  const unknownClaim = `{"id":"${"0".repeat(32)}","claim_token":"${"0".repeat(32)}"}`;

  it.for<[number, string, string, Pick<Asked, "more" | "key">?]>([
    [200, "mailboxes/empty/claim", "{}"],
    [200, "mailboxes/empty/claim", "null"],
    [200, "mailboxes/empty/claim", '{"max":100,"wait_seconds":0,"lease_seconds":60}'],
    [200, "mailboxes/empty/claim", '{"max":1.0,"other":[{}],"__proto__":1}'],
    [200, "mailboxes/empty/claim", "{}", { more: ["Claim-Id: a b\u00e9"] }],
    [400, "mailboxes/empty/claim", "{}", { more: ["Claim-Id:"] }],
    [400, "mailboxes/empty/claim", '{"max":0}'],
    [400, "mailboxes/empty/claim", '{"max":"1"}'],
    [400, "mailboxes/empty/claim", "[]"],
    [400, "mailboxes/empty/claim", '{"a":"\\u0000"}'],
    [400, "mailboxes/empty/claim", "{"],
    [401, "mailboxes/empty/claim", "{}", { key: "unknown" }],
    [404, "mailboxes/empty/claim", "{}", { key: "foreign" }],
    [404, "mailboxes/webhook/claim", "{}"],
    [404, "mailboxes/unknown/claim", "{}"],
    [200, "mailboxes/empty/ack", `{"messages":[${unknownClaim}]}`],
    [400, "mailboxes/empty/ack", '{"messages":[]}'],
    [400, "mailboxes/empty/ack", "{}"],
    [401, "mailboxes/empty/ack", `{"messages":[${unknownClaim}]}`, { key: "revoked" }],
    [404, "mailboxes/unknown/ack", `{"messages":[${unknownClaim}]}`],
    [404, "mailbox-messages/unknown/claim", "{}"],
    [401, "mailbox-messages/unknown/claim", "{}", { key: "unknown" }],
    [400, "mailbox-messages/unknown/claim", "[]"],
    [404, "mailbox-messages/unknown/ack", "{}"],
    [404, "mailbox-messages/unknown/ack", '{"claim_token":"x"}'],
    [400, "mailbox-messages/unknown/ack", '{"claim_token":1}'],
  ])("%i for %s with %s %j", async ([status, named, body, others], { ask }) => {
    const path = named.replace(/(?<=\/)\w+(?=\/)/, (name) => ids[name]!);
    const fast = await ask(onFastPath, { path, body, ...others });
    expect(fast.status).toBe(status);
    expect(fast).toEqual(await ask(onFrameworkPath, { path, body, ...others }));
  });

  it("from a message's claim to its acknowledgement", async ({ service, account, exchange, ask }) => {
    const live = async (way: typeof onFastPath): Promise<WireAnswer[]> => {
      const mailbox = await createMailboxTarget(service, account);
      ids["own mailbox"] = mailbox;
      for (const body of ["1", "2"]) await exchange(way(bytesOf({ target: "own mailbox", body })));
      const claim = await ask(way, { path: `mailboxes/${mailbox}/claim`, body: "{}", more: ["Claim-Id: c"] });
      const again = await ask(way, { path: `mailboxes/${mailbox}/claim`, body: "{}", more: ["Claim-Id: c"] });
      const [{ id, claim_token }] = JSON.parse(claim.body).messages;
      const messages = JSON.stringify({ messages: [{ id, claim_token }] });
      const second = await ask(way, { path: `mailboxes/${mailbox}/claim`, body: '{"max":5}' });
      const [{ id: secondId, claim_token: token }] = JSON.parse(second.body).messages;
      const rest = [
        await ask(way, { path: `mailbox-messages/${secondId}/claim`, body: "{}" }),
        await ask(way, { path: `mailboxes/${mailbox}/ack`, body: messages }),
        await ask(way, { path: `mailboxes/${mailbox}/ack`, body: messages }),
        await ask(way, { path: `mailbox-messages/${id}/claim`, body: "{}" }),
        await ask(way, { path: `mailbox-messages/${secondId}/ack`, body: JSON.stringify({ claim_token }) }),
        await ask(way, {
          path: `mailbox-messages/${secondId}/ack`,
          body: JSON.stringify({ claim_token: token }),
        }),
        await ask(way, { path: `mailbox-messages/${secondId}/ack`, body: "{}" }),
      ];
      expect(again.headers).toContainEqual(["claim-replayed", "true"]);
      return [claim, again, second, ...rest].map(({ statusLine, status, headers, body }) => ({
        statusLine,
        status,
        headers,
        body: body.replaceAll(/\b[0-9a-f]{32}\b/g, "id").replaceAll(/\b\d{10}\b/g, "moment"),
      }));
    };
    const fast = await live(onFastPath);
    expect(fast.map((answer) => answer.status)).toEqual([200, 200, 200, 409, 200, 200, 409, 409, 200, 200]);
    expect(fast).toEqual(await live(onFrameworkPath));
  });
});

it("none of these requests caused an internal error", async ({ service }) => {
  expect(await writtenSoFar(service)).not.toContain("request failed");
});
