import { connect } from "node:net";
import { describe, expect } from "vitest";
import { acceptedEvents, createMailboxTarget, createWebhookTarget } from "./support/items.ts";
import { type Answer, signUp } from "./support/testNode.ts";
import { file, sharedServiceTest } from "./support/fixtures.ts";
import { until } from "./support/until.ts";
import { writtenSoFar } from "./support/writtenLines.ts";
import { setBillingStatus } from "./support/storedStates.ts";

const limitBytes = 1_048_576;

const it = sharedServiceTest()
  .extend("neighbour", file, ({ service }) => signUp(service))
  .extend("neighboursTarget", file, ({ service, neighbour, receiver }) =>
    createWebhookTarget(service, neighbour, receiver.url),
  )
  /** An item's request; fields that are not given have valid values. */
  .extend(
    "send",
    file,
    ({ target, account, service }) =>
      (
        change: {
          path?: string;
          key?: string | null;
          payload?: string | Buffer;
          headers?: Record<string, string>;
        } = {},
      ): Promise<Answer> => {
        const { path = `/t/${target.id}`, key = account.api_key, payload = "{}", headers } = change;
        return service.call("POST", path, { key: key ?? undefined, payload, headers });
      },
  )
  /**
   * Sends a request as bytes on a socket; returns the head and body of the answer once the service closes or
   * answers.
   */
  .extend("sendRaw", file, ({ service }) => async (...pieces: string[]): Promise<string> => {
    const socket = connect(service.port, "127.0.0.1");
    socket.on("error", () => undefined);
    for (const piece of pieces) socket.write(piece);
    let answer = "";
    socket.setEncoding("latin1");
    socket.on("data", (text: string) => {
      answer += text;
      if (/\r\n\r\n[^]*\}$/.test(answer)) socket.destroy();
    });
    await new Promise((resolve) => socket.once("close", resolve));
    return answer;
  })
  .extend(
    "head",
    file,
    ({ account }) =>
      (path: string, ...lines: string[]): string =>
        [
          `POST ${path} HTTP/1.1`,
          "host: localhost",
          `authorization: Bearer ${account.api_key}`,
          ...lines,
          "\r\n",
        ].join("\r\n"),
  )
  .extend(
    "sendIn",
    file,
    ({ service, receiver, pool, send }) =>
      async (status: string, graceSeconds: number | null): Promise<Answer> => {
        const other = await signUp(service);
        const { id } = await createWebhookTarget(service, other, receiver.url);
        await setBillingStatus(pool, other.user, status, graceSeconds);
        return send({ path: `/t/${id}`, key: other.api_key });
      },
  );

async function expectRefused(answer: Answer, status: number, message: string): Promise<void> {
  expect([answer.status, answer.body.error]).toEqual([status, expect.stringContaining(message)]);
  expect(Object.keys(answer.body)).toEqual(["error"]);
  expect(answer.headers["x-request-id"]).toMatch(/./);
}

describe("an item for a missing target", () => {
  it.for([
    ["an unknown target", "/t/0192f1c3a5b87abc8def0123456789ab"],
    ["another organization's target", "/t/<neighbour's>"],
    ["an id in capitals", "/t/<OWN>"],
    ["an id with dashes", "/t/0192f1c3-a5b8-7abc-8def-0123456789ab"],
    ["what is no id", "/t/nothing"],
    ["a NUL", "/t/%00"],
    ["a quote", "/t/'%20or%201=1--"],
    ["another organization's endpoint", "/e/<neighbour's>"],
  ] as const)("%s: 404, as for an unknown id", async ([_what, path], { neighboursTarget, target, send }) => {
    const whole = path
      .replace("<neighbour's>", neighboursTarget.id)
      .replace("<OWN>", target.id.toUpperCase());
    await expectRefused(await send({ path: whole }), 404, "not found");
  });

  it("a mailbox at /e/, which serves only webhooks: 404", async ({ service, account, send }) => {
    const mailbox = await createMailboxTarget(service, account);
    await expectRefused(await send({ path: `/e/${mailbox}` }), 404, "not found");
  });

  it("a deleted target: 404", async ({ service, account, receiver, send }) => {
    const gone = await createWebhookTarget(service, account, receiver.url);
    await service.call("DELETE", `/api/v1/targets/${gone.id}`, { key: account.api_key });
    await expectRefused(await send({ path: `/t/${gone.id}` }), 404, "not found");
  });
});

describe("an item without the right credential", () => {
  const unknownKey = `ak_live_${"0".repeat(64)}`;
  it.for<[string, Record<string, string>]>([
    ["none", {}],
    ["an unknown key", { authorization: `Bearer ${unknownKey}` }],
    ["a short key", { authorization: "Bearer ak_live_123" }],
    ["no scheme", { authorization: unknownKey }],
    ["another scheme", { authorization: `Basic ${unknownKey}` }],
    ["an empty header", { authorization: "" }],
    ["an unknown session", { "x-session-token": "nobody" }],
  ])("%s: 401", async ([_what, headers], { send }) => {
    await expectRefused(await send({ key: null, headers }), 401, "unauthorized");
  });

  it("a revoked key: 401", async ({ service, account, send }) => {
    const { body: second } = await service.call("POST", "/api/v1/keys", {
      session: account.session_token,
      body: { name: "second" },
    });
    expect((await send({ key: second.key })).status).toBe(202);
    await service.call("DELETE", `/api/v1/keys/${second.id}`, { key: account.api_key });
    await expectRefused(await send({ key: second.key }), 401, "unauthorized");
  });

  it("a session: 403, naming the required credential", async ({ account, send, target }) => {
    const headers = { "x-session-token": account.session_token };
    await expectRefused(await send({ key: null, headers }), 403, "API key in Authorization: Bearer");
    await expectRefused(
      await send({ key: null, headers, path: `/e/${target.id}` }),
      403,
      "API key in Authorization: Bearer",
    );
  });
});

describe("an item whose body is wrong", () => {
  it.for([
    ["nothing", ""],
    ["blanks", " \n"],
    ["half a document", '{"a":'],
    ["two documents", "{} {}"],
    ["a trailing comma", '{"a":1,}'],
    ["single quotes", "{'a':1}"],
    ["a NaN", '{"a":NaN}'],
    ["a byte order mark", "\ufeff{}"],
    ["a control character in a string", '{"a":"\u0001"}'],
  ])("%s: 400", async ([_what, payload], { send }) => {
    await expectRefused(await send({ payload }), 400, "the body ");
  });

  it.for(['{"a":', '{"a":1', '{"a":1,', '{"a":[1', '{"a"', '["x', '{"a":1 \n'])(
    "cut off as %j: 400 with that reason",
    async (payload, { send }) => {
      await expectRefused(await send({ payload }), 400, "the document is incomplete");
    },
  );

  it("no body and no content type: 400", async ({ sendRaw, head, target }) => {
    const answer = await sendRaw(head(`/t/${target.id}`));
    expect(answer).toMatch(/^HTTP\/1.1 400 [^]*the body is empty/);
  });

  it.for([
    ["a lone continuation byte", Buffer.from([0x22, 0x80, 0x22])],
    ["half a character", Buffer.from([0x22, 0xc3, 0x22])],
    ["an overlong slash", Buffer.from([0x22, 0xc0, 0xaf, 0x22])],
    ["a surrogate", Buffer.from([0x22, 0xed, 0xa0, 0x80, 0x22])],
    ["UTF-16", Buffer.from("\ufeff{}", "utf16le")],
  ])("invalid UTF-8, %s: 400", async ([_what, payload], { send }) => {
    await expectRefused(await send({ payload }), 400, "the body is not valid UTF-8");
  });

  it.for(["text/plain", "application/x-www-form-urlencoded", "application/jsonp", "application/xml", "json"])(
    "content type %s: 415",
    async (type, { send }) => {
      await expectRefused(await send({ headers: { "content-type": type } }), 415, "application/json");
    },
  );

  it("no content type: 415", async ({ sendRaw, head, target }) => {
    const answer = await sendRaw(head(`/t/${target.id}`, "content-length: 2"), "{}");
    expect(answer).toMatch(/^HTTP\/1.1 415 /);
  });

  it.for(["application/json; charset=utf-8", "Application/JSON"])(
    "content type %s is accepted",
    async (type, { send }) => {
      expect((await send({ headers: { "content-type": type } })).status).toBe(202);
    },
  );

  it("event_type that is not a string, empty, too long or with control characters: 400 that names it", async ({
    send,
  }) => {
    for (const value of [7, true, [], {}, "", "x".repeat(257), "a\nb", "ü", "\u0000"]) {
      const payload = JSON.stringify({ event_type: value });
      await expectRefused(await send({ payload }), 400, "event_type must be ");
    }
    for (const payload of [
      '{"event_type":null}',
      "[1]",
      "7",
      '"text"',
      "null",
      "true",
      '{"event_type":"a b"}',
    ]) {
      expect([payload, (await send({ payload })).status]).toEqual([payload, 202]);
    }
  });
});

describe("an item that is too large", () => {
  function ofBytes(size: number): string {
    return `"${"x".repeat(size - 2)}"`;
  }

  it("by one byte: 413; at the limit: accepted", async ({ send }) => {
    expect((await send({ payload: ofBytes(limitBytes) })).status).toBe(202);
    await expectRefused(await send({ payload: ofBytes(limitBytes + 1) }), 413, "the body is larger");
  });

  it("is refused by its Content-Length, before a byte of the body is sent", async ({
    sendRaw,
    head,
    target,
  }) => {
    const announced = ["content-type: application/json", `content-length: ${100 * limitBytes}`];
    const answer = await sendRaw(head(`/t/${target.id}`, ...announced));
    expect(answer).toMatch(/^HTTP\/1.1 413 [^]*the body is larger/);
    expect(answer).toMatch(/^connection: close/im);
  });

  it("is refused without a Content-Length once it passes the limit, and the rest is not read", async ({
    service,
    head,
    target,
  }) => {
    const socket = connect(service.port, "127.0.0.1");
    socket.on("error", () => undefined);
    socket.write(head(`/t/${target.id}`, "content-type: application/json", "transfer-encoding: chunked"));
    const chunk = `10000\r\n${"x".repeat(0x10000)}\r\n`;
    let answer = "";
    socket.on("data", (bytes) => (answer += bytes.toString("latin1")));
    // Sends an endless body: only the service can end it.
    const pour = (): void => {
      while (socket.writable && socket.write(chunk));
    };
    socket.on("drain", pour);
    pour();
    await new Promise((resolve) => socket.once("close", resolve));
    expect(answer === "" || /^HTTP\/1.1 413 /.test(answer)).toBe(true);
    expect(socket.bytesWritten).toBeLessThan(64 * limitBytes);
  });

  it("for its target's max_payload_bytes: 413 that names the field", async ({
    service,
    account,
    receiver,
    send,
  }) => {
    const small = await createWebhookTarget(service, account, receiver.url, { max_payload_bytes: 20 });
    const path = `/t/${small.id}`;
    expect((await send({ path, payload: ofBytes(20) })).status).toBe(202);
    await expectRefused(await send({ path, payload: ofBytes(21) }), 413, "max_payload_bytes");
  });
});

describe("an item whose headers are wrong", () => {
  it.for<[string, string, string]>([
    ["Idempotency-Key", "of 0 characters", ""],
    ["Idempotency-Key", "of 256 characters", "k".repeat(256)],
    ["Idempotency-Key", "quoted, of 0", '""'],
    ["Idempotency-Key", "quoted, of 256", `"${"k".repeat(256)}"`],
    ["X-Correlation-ID", "of 0 characters", ""],
    ["X-Correlation-ID", "of 129 characters", "c".repeat(129)],
    ["X-Correlation-ID", "with a blank", "a b"],
    ["X-Correlation-ID", "with a dot", "a.b"],
    ["X-Correlation-ID", "beyond ASCII", "é"],
    ["X-Event-Type", "of 0 characters", ""],
    ["X-Event-Type", "of 257 characters", "t".repeat(257)],
    ["X-Event-Type", "beyond ASCII", "é"],
  ])("%s %s: 400 that names it", async ([name, _what, value], { target, send }) => {
    for (const path of [`/t/${target.id}`, `/e/${target.id}`]) {
      await expectRefused(await send({ path, headers: { [name]: value } }), 400, `${name} must be 1 to `);
    }
  });

  it.for<[string, string, string]>([
    ["Idempotency-Key", "of 1 character", "k"],
    ["Idempotency-Key", "of 255 characters", "k".repeat(255)],
    ["Idempotency-Key", "quoted, of 255", `"${"k".repeat(255)}"`],
    ["X-Correlation-ID", "of 128 characters", "c".repeat(128)],
    ["X-Correlation-ID", "of every kind of character", "A-b_9"],
    ["X-Event-Type", "of 256 characters", "t".repeat(256)],
  ])("%s %s is accepted", async ([name, _what, value], { send }) => {
    expect((await send({ headers: { [name]: value } })).status).toBe(202);
  });
});

describe("an item that may not be accepted now", () => {
  it("for a disabled mailbox: 409, until it is enabled again", async ({ service, account, send }) => {
    const paused = await createMailboxTarget(service, account);
    const path = `/t/${paused}`;
    const enable = (enabled: boolean): Promise<Answer> =>
      service.call("PATCH", `/api/v1/targets/${paused}`, { key: account.api_key, body: { enabled } });
    await enable(false);
    await expectRefused(await send({ path }), 409, "the mailbox is disabled");
    await enable(true);
    expect((await send({ path })).status).toBe(202);
  });

  it.for<[string, number | null, number, string]>([
    ["suspended", null, 402, "suspended"],
    ["pending", null, 403, "pending"],
    ["grace", -1, 402, "suspended"],
  ])(
    "for an organization that is %s (its grace ends in %s s): %s",
    async ([status, graceSeconds, code, message], { sendIn }) => {
      await expectRefused(await sendIn(status, graceSeconds), code, message);
    },
  );

  it.for<[string, number | null]>([
    ["grace", 60],
    ["exempt", null],
  ])(
    "is accepted while its organization is only in %s (that ends in %s s)",
    async ([status, graceSeconds], { sendIn }) => {
      expect((await sendIn(status, graceSeconds)).status).toBe(202);
    },
  );
});

it("refusals store nothing, cost nothing and send nothing", async ({ service, receiver, send, account }) => {
  const other = await signUp(service);
  const { id } = await createWebhookTarget(service, other, `${receiver.url}/quiet`, {
    max_payload_bytes: 100,
  });
  const [path, key] = [`/t/${id}`, other.api_key];
  await send({ path, key, payload: "{" });
  await send({ path, key, payload: `"${"x".repeat(200)}"` });
  await send({ path, key, headers: { "idempotency-key": "k".repeat(256) } });
  await send({ path, key: account.api_key });
  expect(await acceptedEvents(service, other)).toBe(0);
  const { body } = await service.call("GET", "/api/v1/events", { key });
  expect(body.events).toEqual([]);
  // The first valid item is the first request that arrives.
  await send({ path, key, payload: '"right"' });
  const [first] = await receiver.arrivals(1, { path: "/quiet" });
  expect(first!.body.toString()).toBe('"right"');
  expect(await acceptedEvents(service, other)).toBe(1);
});

it("an unsupported content coding and a webhook call of an unconfigured payment processor are refused without a 5xx fault", async ({
  service,
  sendRaw,
  head,
  target,
}) => {
  const coded = head(`/t/${target.id}`, "content-type: application/json", "transfer-encoding: gzip, chunked");
  expect(await sendRaw(coded)).toMatch(/^HTTP\/1.1 501 /);
  expect((await service.call("POST", "/api/v1/billing/webhook", { body: {} })).status).toBe(503);
  const noted = await until(
    () => service.output().match(/^.*"request refused".*$/gm),
    (lines) => lines?.length === 2,
  );
  expect(noted!.map((line) => JSON.parse(line))).toMatchObject([
    { level: 40, status: 501, reason: "the only supported Transfer-Encoding is chunked" },
    { level: 40, status: 503, reason: "live billing is disabled" },
  ]);
});

it("none of these requests caused an internal error", async ({ service }) => {
  expect(await writtenSoFar(service)).not.toContain("request failed");
});
