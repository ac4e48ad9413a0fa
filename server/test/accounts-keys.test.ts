import { describe, expect } from "vitest";
import { type Account, type Answer, bodyOf, createTestNode, isAccepted, signUp } from "./support/testNode.ts";
import { file, sharedNodeTest } from "./support/fixtures.ts";
import { setBillingStatus } from "./support/storedStates.ts";

const it = sharedNodeTest()
  .extend(
    "create",
    file,
    ({ node }) =>
      ({ session_token: session }: Account, name: unknown = "key", on = node): Promise<Answer> =>
        on.call("POST", "/api/v1/keys", { session, body: { name } }),
  )
  .extend(
    "list",
    file,
    ({ node }) =>
      async (key: string): Promise<{ id: string; name: string; last_used_at: number | null }[]> =>
        (await bodyOf(node.call("GET", "/api/v1/keys", { key }))).keys,
  )
  .extend(
    "setBilling",
    file,
    ({ node }) =>
      async ({ user }: Account, status: string, graceEndsInSeconds?: number): Promise<void> => {
        await setBillingStatus(node.pool, user, status, graceEndsInSeconds);
      },
  );

describe("creating a key", () => {
  it("returns it once; lists show its first 12 characters", async ({
    own: { account },
    node,
    create,
    other,
  }) => {
    const { status, body } = await create(account, "  build server ");
    expect(status).toBe(200);
    expect(body).toEqual({
      id: expect.stringMatching(/^[0-9a-f]{32}$/),
      name: "build server",
      key: expect.stringMatching(/^ak_live_[0-9a-f]{64}$/),
    });
    expect(await isAccepted(other, { key: body.key })).toBe(true);
    for (const credential of [{ key: body.key }, { session: account.session_token }]) {
      const answer = await node.call("GET", "/api/v1/keys", credential);
      expect(answer.body).toEqual({
        keys: [account.api_key, body.key].map((key, index) => ({
          id: expect.any(String),
          name: ["default", "build server"][index],
          prefix: key.slice(0, 12),
          created_at: expect.any(Number),
          // The last use of a key is recorded in the background.
          last_used_at: expect.toBeOneOf([null, expect.any(Number)]),
        })),
      });
      expect(JSON.stringify(answer.body)).not.toContain(body.key.slice(8));
    }
  });

  it("needs a session", async ({ node, list }) => {
    const { api_key: key, session_token: session } = await signUp(node);
    const body = { name: "another" };
    const refused = await node.call("POST", "/api/v1/keys", { key, body });
    expect(refused.status).toBe(403);
    expect(refused.body.error).toContain("X-Session-Token");
    expect((await node.call("POST", "/api/v1/keys", { body })).status).toBe(401);
    expect((await node.call("POST", "/api/v1/keys", { key, session, body })).status).toBe(200);
    expect(await list(key)).toHaveLength(2);
  });

  it("is refused beyond five keys, also when twenty are requested simultaneously on two nodes", async ({
    own: { account },
    node,
    create,
    other,
    list,
  }) => {
    const answers = await Promise.all(
      Array.from({ length: 20 }, (_, index) =>
        create(account, `key ${index}`, index % 2 === 0 ? node : other),
      ),
    );
    expect(answers.filter(({ status }) => status === 200)).toHaveLength(4);
    expect(answers.filter(({ status }) => status === 409)).toHaveLength(16);
    expect(await list(account.api_key)).toHaveLength(5);
    const refused = await create(account);
    expect(refused).toMatchObject({ status: 409, body: { error: expect.stringContaining("5 API keys") } });
    const [first] = await list(account.api_key);
    const keys = answers.flatMap(({ body }) => (body.key === undefined ? [] : [body.key]));
    await node.call("DELETE", `/api/v1/keys/${first!.id}`, { key: keys[0] });
    expect((await create(account)).status).toBe(200);
  });

  it("is refused beyond the limit that the operator sets", async ({ newNode }) => {
    const node = newNode({ POSTRIDER_MAX_KEYS: "7" });
    const { session_token: session } = await signUp(node);
    const more = () => node.call("POST", "/api/v1/keys", { session, body: { name: "more" } });
    for (let count = 1; count < 7; count++) expect((await more()).status).toBe(200);
    expect(await more()).toMatchObject({
      status: 409,
      body: { error: expect.stringContaining("7 API keys") },
    });
  });

  it.for([
    ["no name", {}, "name is required"],
    ["no body", undefined, "the body must be an object"],
    ["a number", { name: 7 }, "name must be a string"],
    ["an empty name", { name: "" }, "name must not be empty"],
    ["a blank name", { name: "  " }, "name must not be empty"],
    ["257 characters", { name: "é".repeat(257) }, "name must be at most 256 characters"],
  ] as const)("with %s: 400", async ([_what, body, message], { node }) => {
    const { session_token: session } = await signUp(node);
    expect(await node.call("POST", "/api/v1/keys", { session, body })).toMatchObject({
      status: 400,
      body: { error: message },
    });
  });

  it.for([
    ["active", undefined, 200],
    ["exempt", undefined, 200],
    ["grace", 60, 200],
    ["grace", -1, 402],
    ["suspended", undefined, 402],
    ["pending", undefined, 403],
  ] as const)(
    "in the billing state %s (grace ends in %s s): %s",
    async ([status, graceEndsInSeconds, expected], { node, setBilling, create, list }) => {
      const account = await signUp(node);
      await setBilling(account, status, graceEndsInSeconds);
      const answer = await create(account);
      expect(answer.status).toBe(expected);
      expect(answer.body.error ?? "").toContain({ 200: "", 402: "suspended", 403: "pending" }[expected]);
      expect(await list(account.api_key)).toHaveLength(expected === 200 ? 2 : 1);
      await setBilling(account, "active");
      expect((await create(account)).status).toBe(200);
    },
  );
});

describe("deleting a key", () => {
  it("invalidates it at once, on every node", async ({ own: { account }, node, create, other }) => {
    const { id, key } = (await create(account)).body;
    expect(await isAccepted(other, { key })).toBe(true);
    const answer = await node.call("DELETE", `/api/v1/keys/${id}`, { key: account.api_key });
    expect(answer.status).toBe(200);
    expect(answer.body).toEqual({ deleted: true });
    expect(await isAccepted(other, { key })).toBe(false);
    expect(await isAccepted(node, { key })).toBe(false);
    const again = await node.call("DELETE", `/api/v1/keys/${id}`, { key: account.api_key });
    expect(again).toMatchObject({ status: 404, body: { error: "not found" } });
  });

  it("works with a session", async ({ own: { account }, node, create }) => {
    const { id, key } = (await create(account)).body;
    const answer = await node.call("DELETE", `/api/v1/keys/${id}`, { session: account.session_token });
    expect(answer.status).toBe(200);
    expect(await isAccepted(node, { key })).toBe(false);
  });

  it("is refused for the key that authenticates the request and for the last one", async ({
    own: { account },
    node,
    list,
    create,
  }) => {
    const [own] = await list(account.api_key);
    const path = `/api/v1/keys/${own!.id}`;
    const last = await node.call("DELETE", path, { session: account.session_token });
    expect([last.status, last.headers["x-error-code"]]).toEqual([409, "last_key"]);
    expect((await node.call("DELETE", path, { key: account.api_key })).status).toBe(409);
    const { key } = (await create(account)).body;
    const itself = await node.call("DELETE", path, { key: account.api_key });
    expect([itself.status, itself.headers["x-error-code"]]).toEqual([409, "own_key"]);
    expect(await isAccepted(node, { key: account.api_key })).toBe(true);
    expect((await node.call("DELETE", path, { key })).status).toBe(200);
  });

  it("leaves one key when all are deleted simultaneously", async ({
    own: { account },
    node,
    list,
    create,
    other,
  }) => {
    while ((await list(account.api_key)).length < 5) await create(account);
    const keys = await list(account.api_key);
    const { session_token: session } = account;
    const answers = await Promise.all(
      keys.map(({ id }, index) =>
        (index % 2 === 0 ? node : other).call("DELETE", `/api/v1/keys/${id}`, { session }),
      ),
    );
    expect(answers.filter(({ status }) => status === 200)).toHaveLength(4);
    expect(answers.filter(({ status }) => status === 409)).toHaveLength(1);
    const left = await node.call("GET", "/api/v1/keys", { session });
    expect(left.body.keys).toHaveLength(1);
  });

  it("answers for another organization's key as for an unknown one", async ({ node, create, list }) => {
    const [account, neighbour] = [await signUp(node), await signUp(node)];
    await create(neighbour);
    const [foreign] = await list(neighbour.api_key);
    for (const id of [foreign!.id, "0".repeat(32), foreign!.id.toUpperCase(), "nonsense", "%00", "a'b"]) {
      for (const credential of [{ key: account.api_key }, { session: account.session_token }]) {
        const answer = await node.call("DELETE", `/api/v1/keys/${id}`, credential);
        expect(answer).toMatchObject({ status: 404, body: { error: "not found" } });
      }
    }
    expect(await list(neighbour.api_key)).toHaveLength(2);
  });
});

describe("using a key", () => {
  it.for([
    "ak_live_short",
    `ak_live_${"0".repeat(64)}`,
    `ak_test_${"0".repeat(64)}`,
    `ak_live_${"0".repeat(65)}`,
    `ak_live_${"G".repeat(64)}`,
  ])("is refused for an invalid key: %s", async (key, { node }) => {
    expect(await node.call("GET", "/api/v1/keys", { key })).toMatchObject({
      status: 401,
      body: { error: "unauthorized" },
    });
  });

  it("accepts the scheme in any letter case, and no other scheme", async ({ node }) => {
    const { api_key: key } = await signUp(node);
    const statusOf = async (authorization: string): Promise<number> =>
      (await node.call("GET", "/api/v1/keys", { headers: { authorization } })).status;
    expect(await statusOf(`bearer ${key}`)).toBe(200);
    expect(await statusOf(`BEARER  ${key}`)).toBe(200);
    expect(await statusOf(key)).toBe(401);
    expect(await statusOf(`Basic ${key}`)).toBe(401);
    expect(await statusOf(`Bearer ${key} extra`)).toBe(401);
    expect(await statusOf(`Bearer ${key.toUpperCase()}`)).toBe(401);
    expect(await statusOf("")).toBe(401);
  });

  it("is recorded by the time the node has stopped, without a write per request", async ({
    own: { account },
    node,
    database,
  }) => {
    const short = createTestNode(database);
    // Read with the session, so that reading does not count as a use of the key.
    const lastUsedAt = async (): Promise<number | null> => {
      const { keys } = await bodyOf(node.call("GET", "/api/v1/keys", { session: account.session_token }));
      return keys[0].last_used_at;
    };
    for (let uses = 0; uses < 3; uses++) await short.call("GET", "/api/v1/auth/me", { key: account.api_key });
    expect(await lastUsedAt()).toBeNull();
    const secondsBefore = Math.floor(Date.now() / 1000) - 1;
    await short.stop();
    expect(await lastUsedAt()).toBeGreaterThanOrEqual(secondsBefore);
    expect(await lastUsedAt()).toBeLessThanOrEqual(Date.now() / 1000 + 1);
  });
});
