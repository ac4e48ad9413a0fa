import { describe, expect } from "vitest";
import { file, nodeTest } from "./support/fixtures.ts";
import { organization } from "./support/catalogue.ts";
import { entries } from "./support/auditLog.ts";
import { openRawConnection } from "./support/rawConnection.ts";

/** The catalogue of an organization's event types, and the types that targets may name when there is a catalogue. */
const it = nodeTest({ POSTRIDER_ALLOWED_NETWORKS: "127.0.0.0/8", POSTRIDER_ROLES: "api" })
  .extend(
    "put",
    file,
    ({ call }) =>
      (name: string, body: object = {}) =>
        call("PUT", `/api/v1/event-types/${encodeURIComponent(name)}`, body),
  )
  .extend(
    "read",
    file,
    ({ call }) =>
      (name: string) =>
        call("GET", `/api/v1/event-types/${encodeURIComponent(name)}`),
  );

describe("an event type", () => {
  it("is created and changed by the same call, and read by its name", async ({ put, read, call }) => {
    const body = {
      description: "An order was paid.\nIn full.",
      group: "Orders",
      deprecated: true,
      schema: {
        type: "object",
        required: ["b", "a"],
        properties: { b: {}, a: { $ref: "#/$defs/a" } },
        $defs: { a: {} },
      },
      example: { b: 1, a: [null, "x"] },
    };
    const made = await put("order.paid", body);
    expect(made).toMatchObject({ status: 200, body: { name: "order.paid", ...body } });
    // The schema keeps its author's order of fields.
    expect(JSON.stringify(made.body.schema)).toBe(JSON.stringify(body.schema));
    expect((await read("order.paid")).body).toEqual(made.body);
    const again = await put("order.paid", { group: "Money" });
    expect(again.body).toMatchObject({
      id: made.body.id,
      created_at: made.body.created_at,
      description: "",
      group: "Money",
      deprecated: false,
      schema: null,
      example: null,
    });
    const deleted = await call("DELETE", "/api/v1/event-types/order.paid");
    expect(deleted.body).toEqual({ deleted: true, naming_targets: 0 });
    expect((await read("order.paid")).status).toBe(404);
    expect((await call("DELETE", "/api/v1/event-types/order.paid")).status).toBe(404);
  });

  it.for(["orders/create", "a b", "com.example:thing", "%2e", "x".repeat(256), "import", "~{}\"'<>|\\^`"])(
    "may have the name %s, as an item's type may",
    async (name, { put, read, call }) => {
      expect((await put(name, { description: "d" })).status).toBe(200);
      expect((await read(name)).body).toMatchObject({ name, description: "d" });
      const query = new URLSearchParams({ prefix: name }).toString();
      const { body } = await call("GET", `/api/v1/event-types?${query}`);
      expect(body.event_types).toMatchObject([{ name }]);
    },
  );

  it.for(["order.*", " a", "a ", "é", "a\u0001", "x".repeat(257)])(
    "may not have the name %j",
    async (name, { put }) => {
      const refusal = { status: 400, body: { error: expect.stringMatching(/^name must be/) } };
      expect(await put(name)).toMatchObject(refusal);
    },
  );

  it("has no name that a client would resolve as part of the path", async ({ url, account }) => {
    for (const name of [".", "..", "%2e%2E"]) {
      const connection = await openRawConnection(Number(new URL(url).port));
      await connection.write(
        `PUT /api/v1/event-types/${name} HTTP/1.1\r\nhost: 127.0.0.1\r\nauthorization: Bearer ${account.api_key}\r\ncontent-type: application/json\r\ncontent-length: 2\r\n\r\n{}`,
      );
      const { status, body } = await connection.answer();
      expect([status, body]).toEqual([400, expect.stringMatching(/but not \. or \.\./)]);
      connection.destroy();
    }
  });

  it("writes audit entries for changes, with digests of the schemas, and none when it is put unchanged", async ({
    node,
    account,
    put,
  }) => {
    const schema = { type: "object" };
    await put("quiet", { schema });
    await put("quiet", { schema });
    await put("quiet", { schema, deprecated: true });
    await put("quiet", { schema: { type: "array" }, deprecated: true });
    const found = await entries(node, account, "?action=event_type.updated");
    const own = found.filter(({ object }) => object.name === "quiet");
    const digest = /^\d+ bytes, sha256 [0-9a-f]{64}$/;
    expect(own.map(({ after }) => after)).toEqual([
      { schema: expect.stringMatching(digest) },
      { deprecated: true },
    ]);
  });

  it("is listed by name, in pages, by prefix, and by whether it is deprecated", async ({ node }) => {
    const { call } = await organization(node, ["b", "a.2", "a.10", "B", "a-"]);
    await call("PUT", "/api/v1/event-types/a", { deprecated: true, schema: {}, example: 1 });
    const list = async (query: string): Promise<string[]> =>
      (await call("GET", `/api/v1/event-types?${query}`)).body.event_types.map(
        ({ name }: { name: string }) => name,
      );
    expect(await list("")).toEqual(["B", "a", "a-", "a.10", "a.2", "b"]);
    expect(await list("prefix=a&after=a&limit=2")).toEqual(["a-", "a.10"]);
    expect(await list("deprecated=true")).toEqual(["a"]);
    expect(await list("deprecated=false&prefix=a.")).toEqual(["a.10", "a.2"]);
    const [listed] = (await call("GET", "/api/v1/event-types?deprecated=true")).body.event_types;
    expect(listed).not.toHaveProperty("schema");
    expect(listed).not.toHaveProperty("example");
    const { status, body } = await call("GET", "/api/v1/event-types?deprecated=maybe");
    expect([status, body.error]).toEqual([400, "deprecated must be one of true, false"]);
  });
});

describe("the description of a type", () => {
  it.for([
    [
      "a description of 4,097 characters",
      { description: "x".repeat(4_097) },
      /^description must be at most 4096/,
    ],
    ["a description that turns text", { description: "a\u202eb" }, /^description must not have/],
    ["a group of two lines", { group: "a\nb" }, /^group must not have/],
    ["deprecated as text", { deprecated: "yes" }, /^deprecated must be a boolean/],
    ["a schema that is a list", { schema: [] }, /^schema /],
    [
      "an example over 64 KiB",
      { example: "x".repeat(65_536) },
      /^example has 65538 bytes as JSON: 65536 are allowed/,
    ],
    ["a NUL character", { example: "\0" }, /NUL character/],
    [
      "a schema that is none",
      { schema: { items: { minLength: -1 } } },
      /^schema\.items\.minLength must be an integer that is not negative/,
    ],
  ] as const)("is refused with %s", async ([, body, message], { put, read }) => {
    expect(await put("refused", body)).toMatchObject({
      status: 400,
      body: { error: expect.stringMatching(message) },
    });
    expect((await read("refused")).status).toBe(404);
  });

  it("is limited to a thousand types, also with simultaneous requests", async ({ node }) => {
    const { call } = await organization(node, []);
    const webhooks = (from: number, count: number) =>
      Object.fromEntries(Array.from({ length: count }, (_, n) => [`t.${from + n}`, {}]));
    const importing = (from: number, count: number) =>
      call("POST", "/api/v1/event-types/import", { openapi: "3.1.0", webhooks: webhooks(from, count) });
    const [one, other] = await Promise.all([importing(0, 600), importing(600, 600)]);
    const made = one.body.created.length + other.body.created.length;
    const refused = [...one.body.refused, ...other.body.refused] as { reason: string }[];
    expect([made, refused.length]).toEqual([1_000, 200]);
    expect(refused[0]!.reason).toMatch(/^an organization has at most 1000 event types/);
    expect(await call("PUT", "/api/v1/event-types/more", {})).toMatchObject({ status: 409 });
    expect((await call("PUT", "/api/v1/event-types/t.0", { group: "g" })).status).toBe(200);
    const tooMany = await importing(0, 1_001);
    expect(tooMany).toMatchObject({
      status: 400,
      body: { error: "webhooks has 1001 entries: 1000 are allowed" },
    });
  });
});

describe("a target", () => {
  it("may name any type when there is no catalogue, but no pattern that can match nothing", async ({
    node,
  }) => {
    const { webhook } = await organization(node, []);
    expect((await webhook(["anything", "any.*"])).status).toBe(200);
    expect(await webhook(["in*voice"])).toMatchObject({
      status: 400,
      body: { error: expect.stringMatching(/^event_types\.0 cannot match any type/) },
    });
  });

  it("may name types of the catalogue, and prefixes of them", async ({ node }) => {
    const { webhook } = await organization(node, ["invoice.paid", "invoice.line.added", "ping"]);
    for (const types of [["invoice.paid", "ping"], ["invoice.*"], ["invoice.line.*"], []])
      expect((await webhook(types)).status).toBe(200);
    expect(await webhook(["ping", "invoice.pad"])).toMatchObject({
      status: 400,
      body: { error: "event_types.1 is unknown: invoice.pad is not a type of the catalogue" },
    });
    for (const type of ["ping.*", "invoice.paid.*", "order.*"])
      expect(await webhook([type])).toMatchObject({
        status: 400,
        body: { error: `event_types.0 is unknown: ${type} matches no type of the catalogue` },
      });
    expect((await webhook(["invoice.*", "order.*", "in*"])).body.error).toMatch(
      /^event_types\.2 cannot match any type/,
    );
  });

  it("may name the service's own types", async ({ node }) => {
    const { webhook } = await organization(node, ["ping"]);
    const own = ["target.disabled", "handoff.completed", "handoff.*", "event.failed"];
    expect((await webhook(own)).status).toBe(200);
  });

  it("keeps the types that it names, and cannot add deleted ones", async ({ node }) => {
    const { call, webhook } = await organization(node, []);
    const { id } = (await webhook(["old", "gone"])).body;
    for (const name of ["new", "gone"]) await call("PUT", `/api/v1/event-types/${name}`, {});
    const deleted = await call("DELETE", "/api/v1/event-types/gone");
    expect(deleted.body).toEqual({ deleted: true, naming_targets: 1 });
    const change = (event_types: string[]) => call("PATCH", `/api/v1/targets/${id}`, { event_types });
    expect((await change(["gone", "new", "old"])).body.event_types).toEqual(["gone", "new", "old"]);
    expect((await change(["new"])).status).toBe(200);
    expect(await change(["new", "gone"])).toMatchObject({
      status: 400,
      body: { error: "event_types.1 is unknown: gone is not a type of the catalogue" },
    });
    expect((await call("PATCH", `/api/v1/targets/${id}`, { name: "v" })).body.event_types).toEqual(["new"]);
  });

  it("does not see another organization's catalogue", async ({ node }) => {
    await organization(node, ["theirs"]);
    const { webhook } = await organization(node, ["own"]);
    expect((await webhook(["theirs"])).status).toBe(400);
  });

  it("that is a legacy endpoint may name any type, as its contract says", async ({ node }) => {
    const { call } = await organization(node, ["ping"]);
    const made = await call("POST", "/api/v1/endpoints", {
      name: "e",
      url: "https://127.0.0.1:9/",
      event_types: ["unlisted"],
    });
    expect(made.status).toBe(200);
    const changed = await call("PATCH", `/api/v1/endpoints/${made.body.id}`, { event_types: ["another"] });
    expect(changed.body.endpoint.event_types).toBe('["another"]');
  });

  it("gets items whose type is not in the catalogue", async ({ node }) => {
    const { call, webhook } = await organization(node, ["ping"]);
    const { id } = (await webhook([])).body;
    expect(await call("POST", `/t/${id}`, { event_type: "unlisted" })).toMatchObject({
      status: 202,
      body: { status: "QUEUED" },
    });
  });
});
