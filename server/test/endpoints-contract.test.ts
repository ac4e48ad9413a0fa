import { describe, expect } from "vitest";
import { type Answer, signUp } from "./support/testNode.ts";
import { file, sharedNodeTest } from "./support/fixtures.ts";

const it = sharedNodeTest()
  .extend(
    "call",
    file,
    ({ node, account }) =>
      (method: "GET" | "POST" | "PUT" | "PATCH" | "DELETE", path: string, body?: unknown): Promise<Answer> =>
        node.call(method, `/api/v1${path}`, { key: account.api_key, body }),
  )
  .extend(
    "newEndpoint",
    file,
    ({ call }) =>
      async (fields: Record<string, unknown> = {}): Promise<{ id: string; secret: string }> => {
        const answer = await call("POST", "/endpoints", { name: "orders", url, ...fields });
        expect(answer.status).toBe(200);
        return answer.body;
      },
  );

const url = "https://8.8.8.8/hooks";

const idPattern = /^[0-9a-f]{32}$/;

describe("a legacy endpoint", () => {
  it("is created with 200 and returns exactly id and secret", async ({ newEndpoint }) => {
    expect(await newEndpoint()).toEqual({
      id: expect.stringMatching(idPattern),
      secret: expect.stringMatching(/^whsec_/),
    });
  });

  it("is read without its secret, with event_types as JSON text", async ({ newEndpoint, call }) => {
    const { id } = await newEndpoint({ description: "shop", event_types: ['a "quoted" type', "b"] });
    const { status, body } = await call("GET", `/endpoints/${id}`);
    expect(status).toBe(200);
    expect(body).toEqual({
      endpoint: {
        id,
        name: "orders",
        url,
        description: "shop",
        event_types: '["a \\"quoted\\" type","b"]',
        max_payload_bytes: 1_048_576,
        max_retries: 8,
        retry_interval_seconds: 30,
        enabled: true,
        created_at: expect.closeTo(Date.now() / 1000, -3),
        updated_at: expect.closeTo(Date.now() / 1000, -3),
      },
    });
    const list = await call("GET", "/endpoints");
    expect(list.status).toBe(200);
    expect(list.body.endpoints).toContainEqual(body.endpoint);
    expect((await call("GET", `/endpoints/${(await newEndpoint()).id}`)).body.endpoint.event_types).toBe(
      "[]",
    );
  });

  it("answers a change with the fields of the contract and no others", async ({ newEndpoint, call }) => {
    const { id } = await newEndpoint();
    const changes = {
      name: "renamed",
      url: "https://8.8.8.8/other",
      description: "changed",
      event_types: ["c"],
      enabled: false,
      max_retries: 3,
    };
    const answer = await call("PATCH", `/endpoints/${id}`, changes);
    expect(answer.status).toBe(200);
    expect(answer.body).toEqual({
      endpoint: {
        id,
        name: "renamed",
        url: "https://8.8.8.8/other",
        description: "changed",
        event_types: '["c"]',
        enabled: false,
        updated_at: expect.any(Number),
      },
    });
    expect((await call("GET", `/endpoints/${id}`)).body.endpoint).toMatchObject({ max_retries: 3 });
    const one = await call("PATCH", `/endpoints/${id}`, { description: "" });
    expect(one.body.endpoint).toMatchObject({ name: "renamed", description: "", enabled: false });
  });

  it("is deleted", async ({ newEndpoint, call }) => {
    const { id } = await newEndpoint();
    expect(await call("DELETE", `/endpoints/${id}`)).toMatchObject({ status: 200, body: { deleted: true } });
    expect((await call("GET", `/endpoints/${id}`)).status).toBe(404);
    expect((await call("DELETE", `/endpoints/${id}`)).status).toBe(404);
  });

  it.for([
    ["no name", { url }, "name is required"],
    ["no url", { name: "x" }, "url is required"],
    ["a loopback url", { name: "x", url: "https://127.0.0.1/" }, "url points to an address that"],
    ["event_types as JSON text", { name: "x", url, event_types: "[]" }, "event_types must be an array"],
    ["a number among event_types", { name: "x", url, event_types: [7] }, "event_types.0 must be a string"],
  ] as const)("is not created from %s: 400", async ([_what, body, message], { call }) => {
    const answer = await call("POST", "/endpoints", body);
    expect(answer).toMatchObject({ status: 400, body: { error: expect.stringContaining(message) } });
  });

  it("is not changed by a body without a known field: 400", async ({ newEndpoint, call }) => {
    const { id } = await newEndpoint();
    for (const changes of [{}, { colour: "red" }, { uid: "a-target's", headers: {} }]) {
      expect(await call("PATCH", `/endpoints/${id}`, changes)).toMatchObject({
        status: 400,
        body: { error: expect.not.stringMatching(/headers|uid|filter/) },
      });
    }
  });
});

describe("endpoints and webhook targets", () => {
  it("are one record seen through two routes", async ({ newEndpoint, call }) => {
    const { id, secret } = await newEndpoint({ event_types: ["a"], max_retries: 2 });
    const target = await call("GET", `/targets/${id}`);
    expect(target.body).toMatchObject({ kind: "webhook", event_types: ["a"], max_retries: 2, url });
    await call("PATCH", `/targets/${id}`, { name: "renamed", event_types: ["b"] });
    expect((await call("GET", `/endpoints/${id}`)).body.endpoint).toMatchObject({
      name: "renamed",
      event_types: '["b"]',
    });
    const rotated = await call("POST", `/targets/${id}/signing-secret/rotate`);
    expect(rotated.body.secret).not.toBe(secret);
    const { body: other } = await call("POST", "/targets", { kind: "webhook", name: "x", url });
    expect((await call("GET", `/endpoints/${other.id}`)).status).toBe(200);
    await call("DELETE", `/endpoints/${other.id}`);
    expect((await call("GET", `/targets/${other.id}`)).status).toBe(404);
  });

  it("are separate from mailboxes, which do not exist here", async ({ call }) => {
    const { body: mailbox } = await call("POST", "/targets", { kind: "mailbox", name: "inbox" });
    const path = `/endpoints/${mailbox.id}`;
    expect((await call("GET", path)).status).toBe(404);
    expect((await call("PATCH", path, { name: "x" })).status).toBe(404);
    expect((await call("DELETE", path)).status).toBe(404);
    const { body } = await call("GET", "/endpoints");
    expect(body.endpoints.some((endpoint: { id: string }) => endpoint.id === mailbox.id)).toBe(false);
    expect((await call("GET", `/targets/${mailbox.id}`)).body.name).toBe("inbox");
  });

  it("of another organization do not exist", async ({ newEndpoint, node }) => {
    const { id } = await newEndpoint();
    const { api_key: key } = await signUp(node);
    for (const path of [
      `/api/v1/endpoints/${id}`,
      `/api/v1/endpoints/${"0".repeat(32)}`,
      "/api/v1/endpoints/%00",
    ]) {
      for (const answer of [
        await node.call("GET", path, { key }),
        await node.call("PATCH", path, { key, body: { name: "mine" } }),
        await node.call("DELETE", path, { key }),
      ]) {
        expect(answer).toMatchObject({ status: 404, body: { error: "not found" } });
      }
    }
    expect((await node.call("GET", "/api/v1/endpoints", { key })).body).toEqual({ endpoints: [] });
  });
});
