import { describe, expect } from "vitest";
import { answerJson, wholeCard } from "./support/cardServer.ts";
import { cardTest as it } from "./support/cardTest.ts";
import { until } from "./support/until.ts";

describe("a card that requires a credential", () => {
  const demanding = (origin: string): Record<string, unknown> =>
    wholeCard(`${origin}/a2a`, {
      securitySchemes: { key: { apiKeySecurityScheme: { location: "header", name: "X-API-Key" } } },
      securityRequirements: [{ schemes: { key: { list: [] } } }],
    });
  const auth = { type: "api_key", header: "X-API-Key", value: "a-key-that-nobody-may-see" };

  it("is refused at creation without it, naming the scheme", async ({ cards, serve, create }) => {
    serve(demanding(cards.origin));
    for (const other of [undefined, { type: "none" }, { type: "bearer", token: "x".repeat(20) }]) {
      const { status, body } = await create(other === undefined ? {} : { auth: other });
      expect(status).toBe(400);
      expect(body.error).toContain(
        'auth: the agent card requires "key" (an API key in the header X-API-Key)',
      );
    }
  });

  it("gets it in its header, and the target shows only the header's name", async ({
    cards,
    serve,
    create,
    node,
    account,
  }) => {
    serve(demanding(cards.origin));
    const { status, body } = await create({ auth });
    expect([status, body.auth]).toEqual([200, { type: "api_key", header: "X-API-Key" }]);
    expect(JSON.stringify(body)).not.toContain(auth.value);
    const seen = new Promise((resolve) => {
      cards.answer = (response, headers) => {
        resolve(headers["x-api-key"]);
        answerJson(response, {
          message: { messageId: "m", role: "ROLE_AGENT", parts: [{ text: auth.value }] },
        });
      };
    });
    const key = account.api_key;
    const { body: item } = await node.call("POST", `/t/${body.id}`, { key, body: {} });
    expect(await seen).toBe(auth.value);
    const read = () => node.call("GET", `/api/v1/events/${item.id}`, { key });
    const { body: after } = await until(read, (answer) => answer.body.event.status === "DELIVERED");
    expect(after.handoff.status_message).toBe("[token]");
    expect(JSON.stringify(after)).not.toContain(auth.value);
  });

  it("is not used after a refresh when the target lacks the credential; the last valid card stays in use", async ({
    cards,
    serve,
    create,
    refresh,
    read,
    node,
    account,
  }) => {
    serve(wholeCard(`${cards.origin}/a2a`));
    const { id } = (await create()).body;
    serve(demanding(`${cards.origin}/new`));
    const refused = await refresh(id);
    expect([refused.status, refused.headers["x-error-code"]]).toEqual([409, "credential_unmet"]);
    expect(refused.body.error).toMatch(/requires "key" .*; the last usable card stays in use$/);
    expect(await read(id)).toMatchObject({
      url: `${cards.origin}/a2a`,
      card_error: expect.stringContaining('requires "key"'),
    });
    const patch = { key: account.api_key, body: { auth } };
    expect((await node.call("PATCH", `/api/v1/targets/${id}`, patch)).status).toBe(200);
    expect((await refresh(id)).body).toMatchObject({ url: `${cards.origin}/new/a2a`, card_error: null });
    const without = { key: account.api_key, body: { auth: { type: "none" } } };
    expect((await node.call("PATCH", `/api/v1/targets/${id}`, without)).status).toBe(400);
    // The card in use still requires the key, and the newer one a bearer token instead.
    serve({ ...demanding(cards.origin), securitySchemes: { key: { type: "http", scheme: "bearer" } } });
    expect((await refresh(id)).status).toBe(409);
    const bearer = { key: account.api_key, body: { auth: { type: "bearer", token: "x".repeat(20) } } };
    expect((await node.call("PATCH", `/api/v1/targets/${id}`, bearer)).status).toBe(200);
    expect((await refresh(id)).body).toMatchObject({ url: `${cards.origin}/a2a`, card_error: null });
  });

  it.for([
    [{ type: "api_key", value: "v" }, "auth.header is required"],
    [{ type: "api_key", header: "X-Key" }, "auth.value is required"],
    [{ type: "api_key", header: "Host", value: "v" }, "auth.header is reserved"],
    [{ type: "api_key", header: "A2A-Version", value: "v" }, "auth.header is reserved"],
    [{ type: "api_key", header: "a b", value: "v" }, "auth.header is not a valid header name"],
    [{ type: "api_key", header: "X-Key", value: "a\nb" }, "auth.value must be printable"],
    [{ type: "basic" }, "auth.type must be one of bearer, api_key, none"],
  ] as const)("cannot have the credential %j", async ([wrong, message], { create }) => {
    const { status, body } = await create({ auth: wrong });
    expect([status, body.error]).toEqual([400, expect.stringContaining(message)]);
  });
});
