import { createServer, type IncomingMessage, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { afterEach, describe, expect, it } from "vitest";
import { type Client, type ClientOptions, createClient, PostriderError } from "./client.ts";

interface Seen {
  method: string;
  url: string;
  headers: IncomingMessage["headers"];
  body: string;
}

/** An answer of the test server, or a failure instead of an answer. */
type Scripted =
  | { status: number; body?: unknown; isText?: boolean; headers?: Record<string, string> }
  | "reset"
  | "silence";

let server: Server | undefined;
let seen: Seen[];

afterEach(async () => {
  server?.closeAllConnections();
  await new Promise((resolve) => (server === undefined ? resolve(undefined) : server.close(resolve)));
  server = undefined;
});

/** A client of a test server that answers by the script; the last entry is repeated. */
async function clientOf(script: Scripted[], options: Partial<ClientOptions> = {}): Promise<Client> {
  seen = [];
  const own = createServer((request, response) => {
    let body = "";
    request.on("data", (chunk: Buffer) => (body += chunk.toString()));
    request.on("end", () => {
      const { method = "", url = "", headers } = request;
      const step = script[Math.min(seen.length, script.length - 1)]!;
      seen.push({ method, url, headers, body });
      if (step === "reset") request.socket.resetAndDestroy();
      else if (step !== "silence") {
        response.writeHead(step.status, { "content-type": "application/json", ...step.headers });
        if (step.isText === true) response.end(step.body);
        else response.end(step.body === undefined ? "" : JSON.stringify(step.body));
      }
    });
  });
  server = own;
  await new Promise<void>((resolve) => own.listen(0, "127.0.0.1", resolve));
  const { port } = own.address() as AddressInfo;
  return createClient({ baseUrl: `http://127.0.0.1:${port}/`, retryBaseMs: 1, ...options });
}

const accepted = { status: 202, body: { id: "1", status: "QUEUED" } };
const refused = {
  status: 409,
  body: { error: "the target is disabled" },
  headers: { "x-request-id": "r1", "x-error-code": "mailbox_disabled" },
};

describe("a call", () => {
  it("puts parameters, body, headers and credentials where they belong", async () => {
    const client = await clientOf([accepted], { apiKey: "ak_live_1", sessionToken: "ses_1" });
    const options = {
      idempotencyKey: "order 1",
      eventType: "order.created",
      correlationId: "c-1",
      orderingKey: "customer 7",
    };
    expect(await client.sendItem("a/b", { total: 3 }, options)).toEqual({ id: "1", status: "QUEUED" });
    expect(seen).toMatchObject([
      {
        method: "POST",
        url: "/t/a%2Fb",
        body: '{"total":3}',
        headers: {
          authorization: "Bearer ak_live_1",
          "x-session-token": "ses_1",
          "content-type": "application/json",
          "idempotency-key": "order 1",
          "x-event-type": "order.created",
          "x-correlation-id": "c-1",
          "x-ordering-key": "customer 7",
        },
      },
    ]);
  });

  it("removes blanks and line ends around a credential", async () => {
    const client = await clientOf([{ status: 200, body: { targets: [] } }], { apiKey: " ak_live_1\r\n" });
    await client.listTargets();
    expect(seen[0]!.headers.authorization).toBe("Bearer ak_live_1");
  });

  it.each(["ak_live_1\nak_live_2", "ak_live_1\0", "ak_live_1 2", "ak_live_1\u201d"])(
    "refuses the credential %j with a message that does not contain it",
    (text) => {
      for (const name of ["apiKey", "sessionToken"]) {
        const create = () => createClient({ baseUrl: "http://127.0.0.1:9", [name]: text });
        expect(create).toThrow(
          new TypeError(`${name} contains a blank, a line break or another character that is not allowed`),
        );
      }
    },
  );

  it.each(["日", "a\nb", "a\0"])("refuses the header %j before anything is sent", async (text) => {
    const client = await clientOf([accepted]);
    for (const option of ["eventType", "idempotencyKey"]) {
      await expect(client.sendItem("1", {}, { [option]: text })).rejects.toMatchObject({
        name: "PostriderError",
        status: 400,
        message: `${option} has a character that no header can carry`,
      });
    }
    expect(seen).toEqual([]);
  });

  it("sends bytes unchanged", async () => {
    const client = await clientOf([accepted]);
    await client.sendItem("1", new TextEncoder().encode('{"a": 1.0}'));
    expect(seen[0]!.body).toBe('{"a": 1.0}');
  });

  it("parses answers with the function it was given", async () => {
    const text = '{"messages":[{"id":"evt_1","payload":12345678901234567890}]}';
    const client = await clientOf([{ status: 200, body: text, isText: true }], {
      parseJson: (json) => JSON.parse(json.replaceAll(/\d{16,}/g, '"$&"')) as unknown,
    });
    const { messages } = await client.claimMessages("mbx_1", {});
    expect(messages[0]!.payload).toBe("12345678901234567890");
  });

  it("leaves options that are not given out of the query", async () => {
    const client = await clientOf([{ status: 200, body: { events: [] } }]);
    await client.listEvents({ limit: 5, status: "FAILED", correlation_id: undefined });
    await client.listEvents();
    expect(seen.map(({ url }) => url)).toEqual(["/api/v1/events?limit=5&status=FAILED", "/api/v1/events"]);
  });

  it("rejects with the status, message, code and request id of the service's refusal", async () => {
    const client = await clientOf([refused]);
    const error: unknown = await client.createTarget({ kind: "mailbox", name: "m" }).catch((e: unknown) => e);
    expect(error).toBeInstanceOf(PostriderError);
    expect(error).toMatchObject({
      status: 409,
      message: "the target is disabled",
      code: "mailbox_disabled",
      requestId: "r1",
    });
    expect(seen).toHaveLength(1);
  });

  it("rejects at once when the answer is a page of something other than Postrider", async () => {
    const client = await clientOf([{ status: 200, body: "<!doctype html>", isText: true }]);
    await expect(client.listTargets()).rejects.toMatchObject({
      name: "PostriderError",
      status: 200,
      message: expect.stringMatching(
        /^the answer 200 of http:[^?]*\/api\/v1\/targets is not JSON: is this the address of a Postrider service\?$/,
      ),
    });
    expect(seen).toHaveLength(1);
  });

  it.for([
    [200, { ok: true }],
    [200, null],
    [200, ["targets"]],
    [404, { message: "no route" }],
  ] as const)("rejects another service's answer (%s, %j), and names its URL", async ([status, body]) => {
    const client = await clientOf([{ status, body }]);
    const what = status === 200 ? 'has no "targets"' : "has no error message";
    await expect(client.listTargets({ kind: "mailbox" })).rejects.toMatchObject({
      name: "PostriderError",
      status,
      message: expect.stringMatching(
        new RegExp(`^the answer ${status} of http:[^?]*/api/v1/targets ${what}: is this the address`),
      ),
    });
    expect(seen).toHaveLength(1);
  });

  it.for([
    [200, { id: "1", status: "QUEUED" }, "does not have status 202"],
    [202, undefined, "is not JSON"],
    [202, { accepted: true }, 'has no "id"'],
  ] as const)(
    "does not treat an item as accepted when another service answers %s",
    async ([status, body, what]) => {
      const client = await clientOf([{ status, body }]);
      await expect(client.sendItem("t1", {})).rejects.toMatchObject({
        name: "PostriderError",
        status,
        message: expect.stringContaining(`/t/t1 ${what}: is this the address of a Postrider service?`),
      });
      expect(seen).toHaveLength(1);
    },
  );

  it.for([301, 302, 307, 308])("follows no redirect (%s), and names its location", async (status) => {
    const location = "https://postrider.example/t/t1";
    const client = await clientOf([{ status, headers: { location } }]);
    const message = `the address redirects to ${location}: use that address`;
    await expect(client.sendItem("t1", {})).rejects.toMatchObject({ status, message });
    await expect(client.listTargets()).rejects.toMatchObject({ status, message });
    await expect(client.follow().next()).rejects.toMatchObject({ status, message });
    expect(seen).toHaveLength(3);
  });

  it("rejects with the status of another service's answer", async () => {
    const client = await clientOf([{ status: 418, body: ["teapot"] }]);
    await expect(client.readUsage()).rejects.toMatchObject({
      status: 418,
      message: expect.stringContaining("/api/v1/usage has no error message: is this the address"),
    });
  });
});

describe("a retry", () => {
  it("of an item has the same idempotency key, so that only one item is created", async () => {
    const client = await clientOf(["reset", { status: 502 }, accepted]);
    await client.sendItem("1", {});
    const keys = seen.map(({ headers }) => headers["idempotency-key"]);
    expect(keys).toEqual([keys[0], keys[0], keys[0]]);
    expect(keys[0]).toMatch(/^[0-9a-f-]{36}$/);
    await client.sendItem("1", {});
    expect(seen[3]!.headers["idempotency-key"]).not.toBe(keys[0]);
  });

  it("is not made after an unknown outcome of a call that is not idempotent", async () => {
    const client = await clientOf(["reset"]);
    await expect(client.createTarget({ kind: "mailbox", name: "m" })).rejects.toMatchObject({
      status: 0,
      message: expect.stringMatching(/^http:\S+\/api\/v1\/targets could not be reached$/),
    });
    expect(seen).toHaveLength(1);
  });

  it("is made after an unknown outcome of a read, until the last attempt", async () => {
    const client = await clientOf(["reset"], { maxAttempts: 3 });
    await expect(client.listTargets()).rejects.toMatchObject({ status: 0 });
    expect(seen).toHaveLength(3);
  });

  it("is made after a refusal without effect, when its Retry-After has passed", async () => {
    const busy = { status: 503, body: { error: "overloaded" }, headers: { "retry-after": "1" } };
    const client = await clientOf([busy, { status: 200, body: { id: "1" } }]);
    const startedAtMs = performance.now();
    await client.createTarget({ kind: "mailbox", name: "m" });
    expect(performance.now() - startedAtMs).toBeGreaterThan(990);
    expect(seen).toHaveLength(2);
  });

  it("is not made after a 503 with the code outcome_unknown, except for a read", async () => {
    const lost = {
      status: 503,
      body: { error: "lost" },
      headers: { "retry-after": "0", "x-error-code": "outcome_unknown" },
    };
    const client = await clientOf([lost, lost, { status: 200, body: { targets: [] } }]);
    const made = client.createTarget({ kind: "mailbox", name: "m" });
    await expect(made).rejects.toMatchObject({ status: 503, code: "outcome_unknown" });
    expect(seen).toHaveLength(1);
    expect(await client.listTargets()).toEqual({ targets: [] });
  });

  it.each(["acknowledgeMessages", "releaseMessages", "rejectMessages", "extendClaims"] as const)(
    "of %s is made after an unknown outcome, because the claim token makes it harmless",
    async (operation) => {
      const headers = { "retry-after": "0", "x-error-code": "outcome_unknown" };
      const lost = { status: 503, body: { error: "lost" }, headers };
      const done = { status: 200, body: { results: [{ id: "1", ok: true }] } };
      const client = await clientOf([lost, "reset", done]);
      const messages = [{ id: "1", claim_token: "t" }];
      expect(await client[operation]("m", { messages })).toEqual(done.body);
      expect(seen.map(({ body }) => body)).toEqual(Array(3).fill(JSON.stringify({ messages })));
    },
  );

  it("is not made after a 503 without Retry-After", async () => {
    const client = await clientOf([{ status: 503, body: { error: "live billing is disabled" } }]);
    await expect(client.openPortal()).rejects.toMatchObject({ status: 503 });
    expect(seen).toHaveLength(1);
  });

  it("is not made when the caller's signal aborts: the call rejects with the signal's reason", async () => {
    const client = await clientOf(["silence"]);
    const reason = new Error("changed my mind");
    const controller = new AbortController();
    const call = client.listTargets({ signal: controller.signal });
    await expect.poll(() => seen.length).toBe(1);
    controller.abort(reason);
    await expect(call).rejects.toBe(reason);
  });

  it("is made after an attempt that timed out", async () => {
    const client = await clientOf(["silence", { status: 200, body: { targets: [] } }], { timeoutMs: 2_000 });
    expect(await client.listTargets()).toEqual({ targets: [] });
    expect(seen).toHaveLength(2);
  });
});

describe("a time limit", () => {
  it("of less than a second is named in the error", async () => {
    const client = await clientOf(["silence"], { timeoutMs: 300, maxAttempts: 1 });
    await expect(client.listTargets()).rejects.toThrow(/ has not answered within 0\.3 s$/);
  });

  it.each([Number.POSITIVE_INFINITY, 2 ** 31])(
    "of %d ms, too long for a timer, is none",
    async (timeoutMs) => {
      const client = await clientOf([{ status: 200, body: { targets: [] } }], { timeoutMs, maxAttempts: 1 });
      expect(await client.listTargets()).toEqual({ targets: [] });
    },
  );
});

describe("a deadline", () => {
  it("limits the time of all attempts of a call together", async () => {
    const client = await clientOf(["silence"], { deadlineMs: 2_000 });
    await expect(client.listTargets()).rejects.toMatchObject({
      status: 0,
      message: expect.stringMatching(/\/api\/v1\/targets has not answered within \d(\.\d)? s$/),
    });
    expect(seen).toHaveLength(1);
  });

  it("prevents a retry that would begin after it", async () => {
    const busy = { status: 503, body: { error: "overloaded" }, headers: { "retry-after": "20" } };
    const client = await clientOf([busy], { deadlineMs: 10_000 });
    await expect(client.listTargets()).rejects.toMatchObject({ status: 503, retryAfterSeconds: 20 });
    expect(seen).toHaveLength(1);
  });
});

describe("iteration", () => {
  it("reads page after page and stops at the last", async () => {
    const page = (from: number, count: number): Scripted => ({
      status: 200,
      body: { events: Array.from({ length: count }, (_, index) => ({ id: String(from + index) })) },
    });
    const client = await clientOf([page(0, 100), page(100, 100), page(200, 3)]);
    const ids: string[] = [];
    for await (const { id } of client.allEvents({ endpoint_id: "t" })) ids.push(id);
    expect(ids).toEqual(Array.from({ length: 203 }, (_, index) => String(index)));
    expect(seen.map(({ url }) => new URL(url, "http://x").searchParams.get("before"))).toEqual([
      null,
      "99",
      "199",
    ]);
  });

  it("continues after the last entry of a page, also in ascending order", async () => {
    const page = (from: number, count: number): Scripted => ({
      status: 200,
      body: { events: Array.from({ length: count }, (_, index) => ({ id: String(from + index) })) },
    });
    const client = await clientOf([page(0, 100), page(100, 1)]);
    let last = "";
    for await (const { id } of client.allEvents({ order: "asc", after: "x" })) last = id;
    expect(last).toBe("100");
    const asked = seen.map(({ url }) => new URL(url, "http://x").searchParams);
    expect(asked.map((query) => [query.get("after"), query.get("before")])).toEqual([
      ["x", null],
      ["99", null],
    ]);
  });

  it("of publications filters every page by the customer", async () => {
    const page = (count: number): Scripted => ({
      status: 200,
      body: { publications: Array.from({ length: count }, (_, index) => ({ id: String(index) })) },
    });
    const client = await clientOf([page(100), page(1)]);
    let count = 0;
    for await (const _ of client.allPublications({ customer_uid: "shop-7" })) count += 1;
    expect(count).toBe(101);
    expect(seen.map(({ url }) => url)).toEqual([
      "/api/v1/publications?limit=100&customer_uid=shop-7",
      "/api/v1/publications?limit=100&before=99&customer_uid=shop-7",
    ]);
  });
});

describe("following", () => {
  it.for([
    [200, { ok: true }, "is not an event stream"],
    [404, { message: "no route" }, "has no error message"],
  ] as const)("ends at once when another service answers (%s)", async ([status, body, what]) => {
    const client = await clientOf([{ status, body }]);
    await expect(client.follow().next()).rejects.toMatchObject({
      name: "PostriderError",
      status,
      message: expect.stringContaining(`/api/v1/stream ${what}: is this the address`),
    });
    expect(seen).toHaveLength(1);
  });

  it("reconnects without growing delays when the service ends streams without an event", async () => {
    const client = await clientOf([{ status: 200, headers: { "content-type": "text/event-stream" } }]);
    const giving = new AbortController();
    const following = (async () => {
      for await (const _ of client.follow({ signal: giving.signal })) continue;
    })();
    // If the delays doubled each time, the last one would take minutes.
    await expect.poll(() => seen.length).toBeGreaterThan(20);
    giving.abort();
    await following;
  });
});
