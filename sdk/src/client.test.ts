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

/** An answer, or what happens in its place. */
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

/** A service that answers by script, the last entry for ever. */
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

  it("takes blanks and line ends from around a credential", async () => {
    const client = await clientOf([{ status: 200, body: { targets: [] } }], { apiKey: " ak_live_1\r\n" });
    await client.listTargets();
    expect(seen[0]!.headers.authorization).toBe("Bearer ak_live_1");
  });

  it.each(["ak_live_1\nak_live_2", "ak_live_1\0", "ak_live_1 2", "ak_live_1\u201d"])(
    "refuses the credential %j without repeating it",
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

  it("sends bytes as they are", async () => {
    const client = await clientOf([accepted]);
    await client.sendItem("1", new TextEncoder().encode('{"a": 1.0}'));
    expect(seen[0]!.body).toBe('{"a": 1.0}');
  });

  it("leaves out of the query what is not given", async () => {
    const client = await clientOf([{ status: 200, body: { events: [] } }]);
    await client.listEvents({ limit: 5, status: "FAILED", correlation_id: undefined });
    await client.listEvents();
    expect(seen.map(({ url }) => url)).toEqual(["/api/v1/events?limit=5&status=FAILED", "/api/v1/events"]);
  });

  it("rejects with what the service said", async () => {
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

  it("rejects at once when what answers is no such service", async () => {
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
  ] as const)("rejects a stranger's answer (%s, %j), and says whose it is", async ([status, body]) => {
    const client = await clientOf([{ status, body }]);
    const what = status === 200 ? 'has no "targets"' : "does not say why";
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
    [200, { id: "1", status: "QUEUED" }, "is no 202"],
    [202, undefined, "is not JSON"],
    [202, { accepted: true }, 'has no "id"'],
  ] as const)(
    "takes no item for accepted that something else answered with %s",
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

  it.for([301, 302, 307, 308])("follows no redirect (%s), and says where it leads", async (status) => {
    const location = "https://postrider.example/t/t1";
    const client = await clientOf([{ status, headers: { location } }]);
    const message = `the address redirects to ${location}: give the one that it leads to`;
    await expect(client.sendItem("t1", {})).rejects.toMatchObject({ status, message });
    await expect(client.listTargets()).rejects.toMatchObject({ status, message });
    await expect(client.follow().next()).rejects.toMatchObject({ status, message });
    expect(seen).toHaveLength(3);
  });

  it("rejects with the status of what something else answers", async () => {
    const client = await clientOf([{ status: 418, body: ["teapot"] }]);
    await expect(client.readUsage()).rejects.toMatchObject({
      status: 418,
      message: expect.stringContaining("/api/v1/usage does not say why: is this the address"),
    });
  });
});

describe("a repetition", () => {
  it("of an item carries the same key, so that it stays one item", async () => {
    const client = await clientOf(["reset", { status: 502 }, accepted]);
    await client.sendItem("1", {});
    const keys = seen.map(({ headers }) => headers["idempotency-key"]);
    expect(keys).toEqual([keys[0], keys[0], keys[0]]);
    expect(keys[0]).toMatch(/^[0-9a-f-]{36}$/);
    await client.sendItem("1", {});
    expect(seen[3]!.headers["idempotency-key"]).not.toBe(keys[0]);
  });

  it("does not follow a failure whose fate is unknown when it could do a thing twice", async () => {
    const client = await clientOf(["reset"]);
    await expect(client.createTarget({ kind: "mailbox", name: "m" })).rejects.toMatchObject({
      status: 0,
      message: expect.stringMatching(/^http:\S+\/api\/v1\/targets could not be reached$/),
    });
    expect(seen).toHaveLength(1);
  });

  it("follows it for reads, and gives up after the last attempt", async () => {
    const client = await clientOf(["reset"], { maxAttempts: 3 });
    await expect(client.listTargets()).rejects.toMatchObject({ status: 0 });
    expect(seen).toHaveLength(3);
  });

  it("follows a refusal that did nothing, after the time it names", async () => {
    const busy = { status: 503, body: { error: "overloaded" }, headers: { "retry-after": "1" } };
    const client = await clientOf([busy, { status: 200, body: { id: "1" } }]);
    const startedAtMs = performance.now();
    await client.createTarget({ kind: "mailbox", name: "m" });
    expect(performance.now() - startedAtMs).toBeGreaterThan(990);
    expect(seen).toHaveLength(2);
  });

  it("does not follow a refusal that may have done what a repetition would do again", async () => {
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

  it("does not follow what the service is not set up for", async () => {
    const client = await clientOf([{ status: 503, body: { error: "live billing is disabled" } }]);
    await expect(client.openPortal()).rejects.toMatchObject({ status: 503 });
    expect(seen).toHaveLength(1);
  });

  it("ends with the caller's signal, whose reason is what the call rejects with", async () => {
    const client = await clientOf(["silence"]);
    const reason = new Error("changed my mind");
    const controller = new AbortController();
    const call = client.listTargets({ signal: controller.signal });
    await expect.poll(() => seen.length).toBe(1);
    controller.abort(reason);
    await expect(call).rejects.toBe(reason);
  });

  it("follows an attempt that took too long", async () => {
    const client = await clientOf(["silence", { status: 200, body: { targets: [] } }], { timeoutMs: 2_000 });
    expect(await client.listTargets()).toEqual({ targets: [] });
    expect(seen).toHaveLength(2);
  });
});

describe("a deadline", () => {
  it("ends all attempts of a call together", async () => {
    const client = await clientOf(["silence"], { deadlineMs: 2_000 });
    await expect(client.listTargets()).rejects.toMatchObject({
      status: 0,
      message: expect.stringMatching(/\/api\/v1\/targets has not answered within 2 s$/),
    });
    expect(seen).toHaveLength(1);
  });

  it("leaves out an attempt that would come behind it", async () => {
    const busy = { status: 503, body: { error: "overloaded" }, headers: { "retry-after": "20" } };
    const client = await clientOf([busy], { deadlineMs: 10_000 });
    await expect(client.listTargets()).rejects.toMatchObject({ status: 503, retryAfterSeconds: 20 });
    expect(seen).toHaveLength(1);
  });
});

describe("iteration", () => {
  it("asks for page after page and stops at the last", async () => {
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

  it("goes on behind the last of a page also from the oldest on", async () => {
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

  it("of publications keeps to the customer on every page", async () => {
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
    [200, { ok: true }, "is no event stream"],
    [404, { message: "no route" }, "does not say why"],
  ] as const)("ends at once where something else answers (%s)", async ([status, body, what]) => {
    const client = await clientOf([{ status, body }]);
    await expect(client.follow().next()).rejects.toMatchObject({
      name: "PostriderError",
      status,
      message: expect.stringContaining(`/api/v1/stream ${what}: is this the address`),
    });
    expect(seen).toHaveLength(1);
  });

  it("is begun again soon however often the service ends a stream without an event", async () => {
    const client = await clientOf([{ status: 200, headers: { "content-type": "text/event-stream" } }]);
    const giving = new AbortController();
    const following = (async () => {
      for await (const _ of client.follow({ signal: giving.signal })) continue;
    })();
    // With waits that double each time, the last one would be of minutes.
    await expect.poll(() => seen.length, { timeout: 30_000 }).toBeGreaterThan(20);
    giving.abort();
    await following;
  });
});
