import { gzipSync } from "node:zlib";
import { beforeEach, describe, expect } from "vitest";
import { createMailboxTarget } from "./support/items.ts";
import { createAgentTarget, requestAgentTarget } from "./support/agentTargets.ts";
import { cardTest as it } from "./support/cardTest.ts";
import { answerJson, type CardServer, wholeCard } from "./support/cardServer.ts";
import { type CardSigner, startCardSigner } from "./support/signedCards.ts";
import { createTestNode, refusal, signUp } from "./support/testNode.ts";
import { makeOlder } from "./support/passedTime.ts";

describe("an a2a target", () => {
  it("shows the interface that its card names, and no token", async ({
    create,
    cards,
    read,
    node,
    account,
  }) => {
    const answer = await create({ auth: { type: "bearer", token: "very-secret" } });
    expect(answer.status).toBe(200);
    expect(answer.body).toMatchObject({
      kind: "a2a",
      url: `${cards.origin}/a2a`,
      agent_card_url: cards.url,
      auth: { type: "bearer" },
      agent_name: "Card agent",
      agent_version: "7",
      card_signature: "none",
      card_error: null,
      result_target_id: null,
    });
    expect(JSON.stringify(answer.body)).not.toContain("very-secret");
    expect(await read(answer.body.id as string)).toEqual(answer.body);
    const { body } = await node.call("GET", "/api/v1/targets", { key: account.api_key });
    expect(body.targets).toContainEqual(answer.body);
    expect(cards.reads[0]).toMatchObject({ "a2a-version": "1.0" });
    expect(cards.reads[0]).not.toHaveProperty("authorization");
  });

  it("uses the first supported interface, and does not check the others' URLs", async ({
    serve,
    cards,
    create,
  }) => {
    serve(
      wholeCard("x", {
        supportedInterfaces: [
          { url: "host:50051", protocolBinding: "GRPC", protocolVersion: "1.0" },
          { url: `${cards.origin}/rest`, protocolBinding: "HTTP+JSON", protocolVersion: "1.0" },
          { url: "ftp://elsewhere", protocolBinding: "HTTP+JSON", protocolVersion: "1.0" },
        ],
      }),
    );
    expect((await create()).body.url).toBe(`${cards.origin}/rest`);
  });

  it("stores nothing of a refused card", async ({ serve, node, account, create }) => {
    serve("<html>");
    const before = await node.call("GET", "/api/v1/targets", { key: account.api_key });
    expect((await create()).status).toBe(400);
    const after = await node.call("GET", "/api/v1/targets", { key: account.api_key });
    expect(after.body).toEqual(before.body);
  });
});

describe("a card is refused with the error and its place", () => {
  const { supportedInterfaces: _none, ...older } = wholeCard("x");
  const withUrl = (url: string): unknown => wholeCard(url);
  it.for<[string, unknown, string]>([
    ["no JSON", "<html>", "is not JSON"],
    ["a card of 0.3", { ...older, url: "https://a.example", protocolVersion: "0.3.0" }, "is of A2A 0.3.0"],
    [
      "no HTTP+JSON",
      wholeCard("x", {
        supportedInterfaces: [{ url: "x", protocolBinding: "JSONRPC", protocolVersion: "1.0" }],
      }),
      "offers no HTTP+JSON interface of A2A 1.0 in $.supportedInterfaces, only JSONRPC 1.0",
    ],
    [
      "a required extension",
      wholeCard("x", { capabilities: { extensions: [{ uri: "urn:must", required: true }] } }),
      "requires the extension urn:must (at $.capabilities.extensions[0])",
    ],
    [
      "an interface that is no URL",
      withUrl("agent.example.com"),
      "($.supportedInterfaces[0].url) must be an absolute",
    ],
    [
      "a private interface",
      withUrl("https://10.0.0.1/a2a"),
      "($.supportedInterfaces[0].url) points to an address that is not",
    ],
    ["a password", withUrl("https://u:p@a.example/"), "must not contain a user name or password"],
    ["a missing field", wholeCard("x", { skills: undefined }), "lacks $.skills"],
    [
      "a huge card",
      JSON.stringify(wholeCard("x", { padding: "x".repeat(1024 * 1024) })),
      "is larger than 1 MiB",
    ],
  ])("%s", async ([_name, document, problem], { serve, create }) => {
    serve(document);
    const answer = await create();
    expect(answer.status).toBe(400);
    expect(answer.body.error).toMatch(/^agent_card_url: the agent card /);
    expect(answer.body.error).toContain(problem);
  });

  it.for<[string, CardServer["answer"], string]>([
    ["a missing page", (response) => response.writeHead(404).end(), "its address answered 404"],
    [
      "a redirect",
      (response) => response.writeHead(302, { location: "https://elsewhere.example/" }).end(),
      "its address answered 302 redirect to https://elsewhere.example/; redirects are not followed",
    ],
    ["a broken connection", (response) => response.destroy(), "could not be read: "],
    [
      "one that is compressed",
      (response) => response.writeHead(200, { "content-encoding": "gzip" }).end(gzipSync("{}")),
      "is compressed (Content-Encoding: gzip), although the request did not ask for compression",
    ],
  ])("%s", async ([_name, answerWith, problem], { cards, create }) => {
    cards.answer = answerWith;
    const answer = await create();
    expect(answer.status).toBe(400);
    expect(answer.body.error).toContain(problem);
  });

  it("a card that is not complete within ten seconds", async ({ cards, create }) => {
    cards.answer = (response) => void response.writeHead(200).write("{");
    expect((await create()).body.error).toContain("the answer (200) did not end within 10 s");
  });

  it("an address that the service must not call", async ({ database, account }) => {
    const strict = createTestNode(database, { POSTRIDER_ALLOWED_NETWORKS: "" });
    for (const [url, problem] of [
      ["http://agent.example.com/card.json", "agent_card_url must use https"],
      [
        "https://127.0.0.1/card.json",
        "agent_card_url points to an address that is not allowed: POSTRIDER_ALLOWED_NETWORKS can allow networks",
      ],
      ["https://[::ffff:169.254.169.254]/", "agent_card_url points to"],
    ] as const) {
      const answer = await requestAgentTarget(strict, account, { agent_card_url: url });
      expect(answer.status).toBe(400);
      expect(answer.body.error).toContain(problem);
    }
    await strict.stop();
  });

  it.for([
    [{ auth: { type: "basic" } }, "auth.type must be one of bearer, api_key, none"],
    [{ auth: { type: "bearer" } }, "auth.token is required"],
    [{ auth: { type: "none", token: "t" } }, "auth.token does not apply when auth.type is none"],
    [
      { auth: { type: "bearer", token: "t", value: "v" } },
      "auth.value does not apply when auth.type is bearer",
    ],
    [
      { auth: { type: "api_key", header: "X-K", value: "v", token: "t" } },
      "auth.token does not apply when auth.type is api_key",
    ],
    [{ agent_card_url: undefined }, "agent_card_url is required"],
    [{ result_target_id: "0".repeat(32) }, "result_target_id must be a mailbox or webhook target"],
  ] as const)("fields: %j", async ([fields, problem], { create }) => {
    const answer = await create(fields);
    expect(answer.status).toBe(400);
    expect(answer.body.error).toContain(problem);
  });
});

describe("a bearer token for an agent on another origin than its card", () => {
  const bearer = { auth: { type: "bearer", token: "very-secret" } };
  const origin = "http://127.0.0.1:1";

  it.beforeEach(({ serve }) => serve(wholeCard(`${origin}/a2a`)));

  it("needs confirm_origin at creation", async ({ cards, create }) => {
    for (const fields of [bearer, { ...bearer, confirm_origin: cards.origin }]) {
      const refused = await create(fields);
      expect([refused.status, refused.headers["x-error-code"]]).toEqual([409, "origin_unconfirmed"]);
      expect(refused.body.error).toContain(`"confirm_origin": "${origin}"`);
    }
    const created = await create({ ...bearer, confirm_origin: origin });
    expect(created).toMatchObject({ status: 200, body: { url: `${origin}/a2a`, auth: { type: "bearer" } } });
  });

  it("needs it when the token is added later, and not again for the next token", async ({
    create,
    account,
    node,
    read,
  }) => {
    const { id } = (await create()).body;
    const key = account.api_key;
    const patch = (body: unknown) => node.call("PATCH", `/api/v1/targets/${id}`, { key, body });
    const refused = await patch({ ...bearer, name: "other" });
    expect([refused.status, refused.headers["x-error-code"]]).toEqual([409, "origin_unconfirmed"]);
    expect(await read(id as string)).toMatchObject({ name: "agent", auth: { type: "none" } });
    expect((await patch({ ...bearer, confirm_origin: origin })).status).toBe(200);
    expect((await patch({ auth: { type: "bearer", token: "another" } })).status).toBe(200);
  });

  it("is not asked for without a token", async ({ create }) => {
    expect((await create()).status).toBe(200);
    for (const auth of [{}, { auth: { type: "none" } }]) {
      expect(await create({ ...auth, confirm_origin: origin })).toMatchObject(
        refusal(400, "confirm_origin needs auth of type bearer or api_key"),
      );
    }
  });
});

describe("refreshing", () => {
  it("sends a conditional request, and keeps the card on 304", async ({
    serve,
    cards,
    node,
    account,
    refresh,
  }) => {
    serve(wholeCard(`${cards.origin}/a2a`), { etag: '"one"', "cache-control": "max-age=600" });
    const id = await createAgentTarget(node, account, cards.url);
    cards.answer = (response) => void response.writeHead(304).end();
    const answer = await refresh(id);
    expect(answer.status).toBe(200);
    expect(cards.reads[1]).toMatchObject({ "if-none-match": '"one"' });
    expect(cards.reads[1]).not.toHaveProperty("cache-control", "no-cache");
    expect(answer.body).toMatchObject({ url: `${cards.origin}/a2a`, card_error: null });
  });

  it("replaces the card by a valid one, and keeps it when the new one is invalid", async ({
    node,
    account,
    cards,
    serve,
    refresh,
    read,
  }) => {
    const id = await createAgentTarget(node, account, cards.url);
    serve(wholeCard(`${cards.origin}/next`, { version: "8" }));
    const moved = await refresh(id);
    expect(moved.body).toMatchObject({ url: `${cards.origin}/next`, agent_version: "8" });

    serve(wholeCard("https://10.0.0.1/", { version: "9" }));
    const failed = await refresh(id);
    expect(failed.status).toBe(502);
    expect(failed.body.error).toContain("($.supportedInterfaces[0].url) points to an address that is not");
    const shown = await read(id);
    expect(shown).toMatchObject({ url: `${cards.origin}/next`, agent_version: "8" });
    expect(shown["card_error"]).toContain("points to an address that is not allowed");
    expect(shown["card_error_at"]).toBeGreaterThan(1_700_000_000);

    serve(wholeCard(`${cards.origin}/next`));
    expect((await refresh(id)).body).toMatchObject({ card_error: null, card_error_at: null });
  });

  it("is for agents only, and only for their owner", async ({ node, account, cards, refresh }) => {
    const id = await createAgentTarget(node, account, cards.url);
    const stranger = await signUp(node);
    const foreign = await node.call("POST", `/api/v1/targets/${id}/refresh`, { key: stranger.api_key });
    expect(foreign.status).toBe(404);
    expect((await refresh(await createMailboxTarget(node, account))).status).toBe(400);
  });

  it.for<[string, Record<string, unknown>, CardServer["answer"]]>([
    ["has a usable card", {}, (response) => answerJson(response, wholeCard("https://moved.example.com/a2a"))],
    ["has the same card", {}, (response) => void response.writeHead(304).end()],
    ["has a card that cannot be read", {}, (response) => void response.writeHead(500).end()],
    [
      "moves to another origin",
      { auth: { type: "bearer", token: "t" } },
      (response) => answerJson(response, wholeCard("https://moved.example.com/a2a")),
    ],
    [
      "demands a credential",
      {},
      (response) =>
        answerJson(
          response,
          wholeCard("https://moved.example.com/a2a", {
            securitySchemes: { mtls: { mutualTlsSecurityScheme: {} } },
            securityRequirements: [{ schemes: { mtls: { list: [] } } }],
          }),
        ),
    ],
  ])(
    "answers 404 if the target is deleted meanwhile, and its agent %s",
    async ([, fields, answerWith], { node, account, cards, serve, create, refresh }) => {
      serve(wholeCard(`${cards.origin}/a2a`), { etag: '"one"' });
      const id = (await create(fields)).body.id as string;
      cards.answer = (response, headers) =>
        void node
          .call("DELETE", `/api/v1/targets/${id}`, { key: account.api_key })
          .then(() => answerWith(response, headers));
      expect(await refresh(id)).toMatchObject(refusal(404, "not found"));
    },
  );

  it("happens automatically when a card has expired", async ({ node, account, cards, serve, read }) => {
    const id = await createAgentTarget(node, account, cards.url);
    await makeOlder(node.pool, 86_400, "agent_cards", { target_id: id });
    serve(wholeCard(`${cards.origin}/later`));
    const counts = await node.service.handoffs.refreshDueCards();
    expect(counts.cards).toBeGreaterThan(0);
    expect(await read(id)).toMatchObject({ url: `${cards.origin}/later` });
    await makeOlder(node.pool, 86_400, "agent_cards", { target_id: id });
    cards.answer = (response) => void response.writeHead(500).end();
    await node.service.handoffs.refreshDueCards();
    expect(await read(id)).toMatchObject({
      url: `${cards.origin}/later`,
      card_error: "could not be read: its address answered 500",
    });
  });
});

describe("a card that moves the agent to another origin", () => {
  it("waits for the owner's confirmation while there is a bearer token", async ({
    create,
    serve,
    refresh,
    read,
    cards,
  }) => {
    const answer = await create({ auth: { type: "bearer", token: "t" } });
    const id = answer.body.id as string;
    const origin = "https://moved.example.com";
    serve(wholeCard(`${origin}/a2a`));
    for (const body of [undefined, { confirm_origin: "https://other.example.com" }]) {
      const held = await refresh(id, body);
      expect(held.status).toBe(409);
      expect(held.body.error).toContain(`{"confirm_origin": "${origin}"}`);
    }
    expect(await read(id)).toMatchObject({ url: `${cards.origin}/a2a`, offered_origin: origin });
    expect((await read(id))["card_error"]).toContain(origin);

    const confirmed = await refresh(id, { confirm_origin: origin });
    expect(confirmed.body).toMatchObject({ url: `${origin}/a2a`, offered_origin: null, card_error: null });
    serve(wholeCard(`${origin}/v2`));
    expect((await refresh(id)).body.url).toBe(`${origin}/v2`);
  });

  it("is followed at once without a token", async ({ node, account, cards, serve, refresh }) => {
    const id = await createAgentTarget(node, account, cards.url);
    serve(wholeCard("https://moved.example.com/a2a"));
    expect((await refresh(id)).body.url).toBe("https://moved.example.com/a2a");
    const given = await node.call("PATCH", `/api/v1/targets/${id}`, {
      key: account.api_key,
      body: { auth: { type: "bearer", token: "t2" }, confirm_origin: "https://moved.example.com" },
    });
    expect(given.body.auth).toEqual({ type: "bearer" });
    serve(wholeCard(`${cards.origin}/back`));
    expect((await refresh(id)).status).toBe(409);
  });
});

describe("a signed card", () => {
  let signer: CardSigner;

  beforeEach(async () => {
    signer = await startCardSigner();
    return () => signer.stop();
  });

  it("is shown as verified, with the origin of its keys", async ({ serve, cards, create }) => {
    serve(await signer.sign(wholeCard(`${cards.origin}/a2a`)));
    const { body } = await create();
    expect(body).toMatchObject({ card_signature: "verified", card_signature_detail: null });
    expect(body.card_signature_keys).toMatch(/^http:\/\/127\.0\.0\.1:\d+\/card\.json$/);
  });

  it("is shown as invalid after a change, and as unverified when its keys are unavailable", async ({
    cards,
    serve,
    create,
  }) => {
    const card = await signer.sign(wholeCard(`${cards.origin}/a2a`));
    serve({ ...card, description: "changed" });
    expect((await create()).body).toMatchObject({ card_signature: "invalid", card_signature_keys: null });
    signer.jwk = { ...signer.jwk, kid: "another" };
    serve(card);
    const { body } = await create();
    expect(body).toMatchObject({ card_signature: "unverified" });
    expect(body.card_signature_detail).toContain("$.signatures[0]: the key set has no public key named k");
  });

  it("is not replaced by a card with a worse signature without the owner's confirmation", async ({
    serve,
    cards,
    create,
    refresh,
    read,
  }) => {
    serve(await signer.sign(wholeCard(`${cards.origin}/a2a`)));
    const id = (await create()).body.id as string;
    serve(wholeCard(`${cards.origin}/unsigned`));
    const held = await refresh(id);
    expect([held.status, held.headers["x-error-code"]]).toEqual([409, "signature_unconfirmed"]);
    expect(await read(id)).toMatchObject({
      url: `${cards.origin}/a2a`,
      card_signature: "verified",
      offered_origin: null,
      offered_signature: "none",
    });
    const agreed = await refresh(id, { confirm_signature: "none" });
    expect(agreed.body).toMatchObject({ url: `${cards.origin}/unsigned`, offered_signature: null });
  });

  it("is replaced by an unsigned card at another origin when one request confirms both", async ({
    serve,
    cards,
    create,
    refresh,
    read,
  }) => {
    serve(await signer.sign(wholeCard(`${cards.origin}/a2a`)));
    const id = (await create({ auth: { type: "bearer", token: "t" } })).body.id as string;
    const origin = "https://moved.example.com";
    serve(wholeCard(`${origin}/a2a`));
    expect((await refresh(id)).headers["x-error-code"]).toBe("origin_unconfirmed");
    expect(await read(id)).toMatchObject({ offered_origin: origin, offered_signature: "none" });
    const held = await refresh(id, { confirm_origin: origin });
    const [asked] = /\{.*\}/.exec(held.body.error)!;
    expect(JSON.parse(asked)).toEqual({ confirm_origin: origin, confirm_signature: "none" });
    expect((await refresh(id, JSON.parse(asked))).body.url).toBe(`${origin}/a2a`);
  });
});
