import { describe, expect } from "vitest";
import { createWebhookTarget, sendItem } from "./support/items.ts";
import { until } from "./support/until.ts";
import { file, serviceTest } from "./support/fixtures.ts";
import { keepAnswers } from "./support/keepAnswers.ts";

const secret = "Bearer s3cr3t-that-nobody-may-read";
const credential = "s3cr3t-that-nobody-may-read";
const other = 'second-"secret"-value';

const it = serviceTest({ LOG_LEVEL: "trace", POSTRIDER_LOG_REQUESTS: "true" })
  /** Every answer of the service. */
  .extend("answers", file, ({ service }) => keepAnswers(service))
  .extend(
    "targetWith",
    file,
    ({ service, account, receiver }) =>
      async (headers: unknown, path = "/echo"): Promise<string> =>
        (await createWebhookTarget(service, account, receiver.url + path, { headers, max_retries: 0 })).id,
  )
  .extend(
    "attemptsOf",
    file,
    ({ call }) =>
      async (eventId: string, count = 1): Promise<Record<string, unknown>[]> => {
        const read = async () => (await call("GET", `/api/v1/events/${eventId}`)).body.delivery_attempts;
        return until(read, (attempts) => attempts.length === count);
      },
  );

it.beforeAll(({ receiver, answers: _kept }) => {
  // Repeats the request's headers, as echo services do.
  receiver.answer = ({ path, headers }, response) => {
    const json = JSON.stringify(headers);
    response
      .writeHead(path === "/refuses" ? 500 : 200)
      .end(path === "/php" ? json.replaceAll("/", "\\/") : json);
  };
});

const both = { Authorization: secret, "X-Tenant": { value: "shop-7", secret: false }, "x-other": other };
const shown = { Authorization: "***", "X-Tenant": { value: "shop-7", secret: false }, "x-other": "***" };

describe("a target's own headers", () => {
  it("are masked in an answer that repeats them in JSON with escaped slashes, as PHP writes it", async ({
    targetWith,
    attemptsOf,
    service,
    account,
  }) => {
    const id = await targetWith({ Authorization: "Basic c2hvcC83L3/ZWNyZXQ/aA==" }, "/php");
    const [attempt] = await attemptsOf(await sendItem(service, account, id));
    expect(attempt!["response_body"]).toContain("***");
    expect(attempt!["response_body"]).not.toContain("ZWNyZXQ");
  });

  it("are sent with each attempt, and the receiver sees no other difference", async ({
    targetWith,
    service,
    account,
    receiver,
  }) => {
    const id = await targetWith(both);
    const eventId = await sendItem(service, account, id);
    const [received] = await until(
      () => receiver.received.filter((one) => one.id === eventId),
      (all) => all.length === 1,
    );
    expect(received!.headers).toMatchObject({
      authorization: secret,
      "x-tenant": "shop-7",
      "x-other": other,
      "content-type": "application/json",
      "webhook-id": eventId,
    });
  });

  it("are shown at the target and at the attempts that carried them, without secret values", async ({
    targetWith,
    call,
    service,
    account,
    attemptsOf,
  }) => {
    const id = await targetWith(both);
    expect((await call("GET", `/api/v1/targets/${id}`)).body.headers).toEqual(shown);
    const first = await sendItem(service, account, id);
    await attemptsOf(first);
    const changed = await call("PATCH", `/api/v1/targets/${id}`, {
      headers: { "X-Tenant": both["X-Tenant"] },
    });
    expect(changed.body.headers).toEqual({ "X-Tenant": both["X-Tenant"] });
    const second = await sendItem(service, account, id);
    const [after] = await attemptsOf(second);
    const removed = await call("PATCH", `/api/v1/targets/${id}`, { headers: null });
    expect(removed.body.headers).toEqual({});
    const third = await sendItem(service, account, id);
    const [last] = await attemptsOf(third);
    const [before] = await attemptsOf(first);
    expect(before!["request_headers"]).toEqual({
      Authorization: "***",
      "X-Tenant": "shop-7",
      "x-other": "***",
    });
    expect(after!["request_headers"]).toEqual({ "X-Tenant": "shop-7" });
    expect(last).not.toHaveProperty("request_headers");
    // The receiver repeated the headers, and the stored part of its answer does not contain the secret values.
    expect(before!["response_body"]).toContain('"authorization":"***"');
    expect(before!["response_body"]).toContain('"x-tenant":"shop-7"');
  });

  it("are shown on failed attempts, and on attempts that were recorded together", async ({
    targetWith,
    service,
    account,
    attemptsOf,
  }) => {
    const failing = await targetWith(both, "/refuses");
    const failed = await sendItem(service, account, failing);
    const [attempt] = await attemptsOf(failed);
    expect(attempt).toMatchObject({ status_code: 500, request_headers: { Authorization: "***" } });
    const id = await targetWith({ "X-Tenant": { value: "shop-8", secret: false } });
    const sent = await Promise.all(Array.from({ length: 40 }, () => sendItem(service, account, id)));
    for (const eventId of sent) {
      expect((await attemptsOf(eventId))[0]).toMatchObject({ request_headers: { "X-Tenant": "shop-8" } });
    }
  });

  it("stay unchanged when the answer of a read is sent back", async ({
    targetWith,
    call,
    service,
    account,
    attemptsOf,
    receiver,
  }) => {
    const id = await targetWith(both);
    const { headers } = (await call("GET", `/api/v1/targets/${id}`)).body;
    const changed = await call("PATCH", `/api/v1/targets/${id}`, {
      headers: { ...headers, "X-More": "more-of-it" },
    });
    expect(changed.body.headers).toEqual({ ...shown, "X-More": "***" });
    const eventId = await sendItem(service, account, id);
    await attemptsOf(eventId);
    const { headers: got } = receiver.received.find((one) => one.id === eventId)!;
    expect(got).toMatchObject({ authorization: secret, "x-other": other, "x-more": "more-of-it" });
    const unknown = await call("PATCH", `/api/v1/targets/${id}`, { headers: { "X-New": "***" } });
    expect(unknown).toMatchObject({ status: 400, body: { error: expect.stringContaining("headers.X-New") } });
  });

  it("are not sent to another origin than the one they were set for", async ({
    targetWith,
    call,
    receiver,
  }) => {
    const id = await targetWith(both);
    const elsewhere = "http://127.0.0.2:9/hooks";
    const patch = (body: unknown) => call("PATCH", `/api/v1/targets/${id}`, body);
    const refused = await patch({ url: elsewhere });
    expect(refused.status).toBe(409);
    expect(refused.headers["x-error-code"]).toBe("headers_needed");
    expect((await call("PATCH", `/api/v1/endpoints/${id}`, { url: elsewhere })).status).toBe(409);
    expect((await patch({ url: elsewhere, headers: { Authorization: "***" } })).status).toBe(400);
    expect((await patch({ url: `${receiver.url}/other` })).status).toBe(200);
    const moved = await patch({ url: elsewhere, headers: { Authorization: "for elsewhere" } });
    expect(moved.body).toMatchObject({ url: elsewhere, headers: { Authorization: "***" } });
  });
});

it.for<[string, string]>([
  ["Host", "a"],
  ["content-length", "1"],
  ["Content-Type", "text/plain"],
  ["Connection", "close"],
  ["Transfer-Encoding", "chunked"],
  ["webhook-id", "x"],
  ["Webhook-Signature", "x"],
  ["user-agent", "x"],
  ["traceparent", "x"],
  ["X-Postrider-Test", "x"],
  ["proxy-authorization", "x"],
  ["cookie", "a=b"],
  ["x-event-type", "x"],
  ["bad name", "x"],
  ["", "x"],
  ["x\r\ny", "x"],
  ["X-Long".padEnd(65, "x"), "x"],
  ["X-A", "a\r\nX-Injected: b"],
  ["X-A", "a\nb"],
  ["X-A", "a\0b"],
  ["X-A", "ü"],
  ["X-A", "\u{1f600}"],
  ["X-A", " a"],
  ["X-A", "a\t"],
  ["X-A", ""],
  ["X-A", "v".repeat(4_097)],
])("refuses the header %j with %j, and names it", async ([name, value], { call, receiver }) => {
  for (const given of [value, { value, secret: false }]) {
    const answer = await call("POST", "/api/v1/targets", {
      kind: "webhook",
      name: "t",
      url: `${receiver.url}/echo`,
      headers: { [name]: given },
    });
    expect(answer.status).toBe(400);
    // A body with a NUL is refused first, whatever its fields are.
    expect(answer.body.error).toMatch(value.includes("\0") ? /NUL/ : /^headers/);
    expect(answer.body.error).not.toMatch(/[^ -~]/);
  }
});

it.for([
  ["more than 20", Object.fromEntries(Array.from({ length: 21 }, (_, n) => [`X-${n}`, "v"]))],
  ["two of one name", { "X-A": "1", "x-a": "2" }],
  ["more bytes than receivers take", { "X-A": "v".repeat(4_000), "X-B": "v".repeat(4_000) }],
  ["a list", ["X-A", "v"]],
  ["a number as value", { "X-A": 1 }],
  ["a value that is missing", { "X-A": { secret: true } }],
])("refuses %s", async ([_what, headers], { call, receiver }) => {
  const answer = await call("POST", "/api/v1/targets", {
    kind: "webhook",
    name: "t",
    url: `${receiver.url}/echo`,
    headers,
  });
  expect(answer).toMatchObject({ status: 400, body: { error: expect.stringMatching(/^headers/) } });
});

it("mailboxes, agents and legacy endpoints cannot have headers", async ({ call, targetWith, receiver }) => {
  const mailbox = await call("POST", "/api/v1/targets", {
    kind: "mailbox",
    name: "m",
    headers: { "X-A": "v" },
  });
  expect(mailbox).toMatchObject({
    status: 400,
    body: { error: "headers does not apply to a mailbox target" },
  });
  const id = await targetWith(both);
  const endpoint = (await call("GET", `/api/v1/endpoints/${id}`)).body.endpoint;
  expect(endpoint).not.toHaveProperty("headers");
  // Unknown to the legacy interface, and so ignored.
  const unknown = { headers: 5, rate_limit_per_second: "fast", rate_limit_burst: {}, max_concurrency: -1 };
  const made = await call("POST", "/api/v1/endpoints", {
    name: "e",
    url: `${receiver.url}/echo`,
    ...unknown,
  });
  expect(made.status).toBe(200);
  const target = (await call("GET", `/api/v1/targets/${made.body.id}`)).body;
  expect(target).toMatchObject({ headers: {}, rate_limit_per_second: null, max_concurrency: null });
  expect((await call("PATCH", `/api/v1/endpoints/${id}`, unknown)).status).toBe(400);
  expect((await call("PATCH", `/api/v1/endpoints/${id}`, { ...unknown, name: "f" })).status).toBe(200);
  expect((await call("GET", `/api/v1/targets/${id}`)).body).toMatchObject({ name: "f", headers: shown });
});

it("no answer and no line of the log contains a secret value", async ({
  call,
  receiver,
  attemptsOf,
  service,
  account,
  answers,
}) => {
  await call("GET", "/api/v1/targets");
  await call("GET", "/api/v1/events");
  await call("POST", "/api/v1/targets", {
    kind: "webhook",
    name: "t",
    url: `${receiver.url}/echo`,
    headers: { "X-A": `${secret}\r\n`, host: secret },
  });
  const tryout = await call("POST", "/api/v1/targets", {
    kind: "webhook",
    name: "tryout",
    url: `https://tryout.postrider.invalid/${"a".repeat(32)}`,
    headers: both,
  });
  if (tryout.status === 200) {
    await attemptsOf(await sendItem(service, account, tryout.body.id));
    await call("GET", `/api/v1/targets/${tryout.body.id}/tryout`);
  }
  const everything = [...answers, service.output()].join("\n");
  expect(everything).not.toContain(credential);
  expect(everything).not.toContain(JSON.stringify(other).slice(1, -1));
  expect(everything).not.toContain('second-\\\\"secret');
});
