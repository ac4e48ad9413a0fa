import { Validator } from "@seriousme/openapi-schema-validator";
import { Ajv } from "ajv";
import { describe, expect } from "vitest";
import { type AppDeps, interfaceRoutes } from "../src/app.ts";
import { loadConfig } from "../src/config/config.ts";
import { contractProblem, openApi, schemaProblem, watchContract } from "./support/contract.ts";
import { createTestNode } from "./support/testNode.ts";
import { sharedNodeTest } from "./support/fixtures.ts";

const it = sharedNodeTest();

const operations = Object.entries(openApi.paths).flatMap(([path, methods]) =>
  Object.entries(methods).map(([method, operation]) => ({ path, method, operation })),
);

describe("the OpenAPI document", () => {
  it("is valid OpenAPI 3.1", async () => {
    const validator = new Validator();
    const result = await validator.validate(structuredClone(openApi));
    expect(result).toMatchObject({ valid: true });
    expect(validator.version).toBe("3.1");
  });

  it("names every operation uniquely", () => {
    const names = operations.map(({ operation }) => operation.operationId);
    expect(new Set(names).size).toBe(names.length);
    expect(names.length).toBeGreaterThan(30);
  });

  it("requires no body that may be null, with a named schema or without", () => {
    const optional = operations.filter(({ operation }) => operation.requestBody?.required === false);
    expect(optional.map(({ operation }) => operation.operationId)).toEqual(
      expect.arrayContaining(["claimMessages", "refreshTarget", "rotateSigningSecret", "testTarget"]),
    );
  });

  it("has no unresolved references", () => {
    const references = JSON.stringify(openApi).matchAll(/"\$ref":"#\/([^"]+)"/g);
    const find = (path: string): unknown =>
      path
        .split("/")
        .reduce<unknown>((part, name) => (part as Record<string, unknown> | undefined)?.[name], openApi);
    const dangling = [...references].filter(([, path]) => typeof find(path!) !== "object");
    expect(dangling).toEqual([]);
  });

  it("has examples that fit their schemas", () => {
    const problems = operations.flatMap(({ operation }) => {
      const body = operation.requestBody?.content["application/json"];
      const requests = Object.values(body?.examples ?? {}).map(({ value }) => [body!.schema, value] as const);
      const answers = Object.values(operation.responses).flatMap((response) => {
        const content = response["content"] as
          | Record<string, { schema: Record<string, unknown>; example?: unknown }>
          | undefined;
        const json = content?.["application/json"];
        return json?.example === undefined ? [] : [[json.schema, json.example] as const];
      });
      return [...requests, ...answers].flatMap(([schema, value]) => schemaProblem(schema, value) ?? []);
    });
    expect(problems).toEqual([]);
  });

  it("has patterns that validators of other languages read, without Unicode properties", () => {
    const patterns = [...JSON.stringify(openApi).matchAll(/"pattern":("(?:[^"\\]|\\.)*")/g)];
    expect(patterns.length).toBeGreaterThan(100);
    expect(patterns.filter(([, pattern]) => pattern!.includes("\\\\p"))).toEqual([]);
  });

  it("has only schemas that are valid JSON Schema, which the service relies on", () => {
    const ajv = new Ajv({ strict: false });
    const routes = interfaceRoutes({ config: loadConfig({}) } as AppDeps);
    const problems = routes.flatMap(({ method, path, body, query, params, headers, response }) =>
      [body, query, params, headers, ...Object.values(response)]
        .filter((one) => one !== undefined)
        .flatMap((one) =>
          ajv.validateSchema(one) === true ? [] : [`${method} ${path}: ${ajv.errorsText()}`],
        ),
    );
    expect(routes.length).toBeGreaterThan(80);
    expect(problems).toEqual([]);
  });

  it("is served unchanged", async ({ node }) => {
    const { status, body, headers } = await node.call("GET", "/openapi.json");
    expect(status).toBe(200);
    expect(headers["content-type"]).toBe("application/json; charset=utf-8");
    expect(body).toEqual(JSON.parse(JSON.stringify(openApi)));
  });
});

describe("the reference for people", () => {
  it("works without the internet, and has no broken links", async ({ node }) => {
    const seen = new Map<string, string>();
    const waiting = ["/docs"];
    for (let path = waiting.shift(); path !== undefined; path = waiting.shift()) {
      const { statusCode, headers, body } = await node.service.app.inject({ url: path });
      expect({ path, statusCode }).toEqual({ path, statusCode: 200 });
      seen.set(path, body);
      if (!String(headers["content-type"]).startsWith("text/html")) continue;
      expect(headers["content-security-policy"]).toContain("default-src 'none'; script-src 'self'");
      for (const [, link] of body.matchAll(/(?:src|href)="([^"]+)"/g)) {
        const { pathname, origin, hash } = new URL(link!, `http://localhost${path}`);
        expect(origin).toBe("http://localhost");
        const isHere = pathname !== path || hash === "" || body.includes(`id="${hash.slice(1)}"`);
        expect({ link, isHere }).toEqual({ link, isHere: true });
        if (!seen.has(pathname) && !waiting.includes(pathname)) waiting.push(pathname);
      }
    }
    const tags = openApi["tags"] as { name: string }[];
    expect([...seen.keys()].filter((path) => /^\/docs\/[a-z-]+$/.test(path))).toHaveLength(tags.length);
    const all = [...seen.values()].join("");
    for (const { operationId } of Object.values(openApi.paths).flatMap((methods) => Object.values(methods))) {
      expect(all).toContain(`<section id="${operationId}"`);
    }
  });

  it("has samples that call the operation", async ({ node }) => {
    const { body } = await node.service.app.inject({ url: "/docs/ingestion" });
    const text = body.replaceAll(/&#(\d+);/g, (_all, code: string) => String.fromCodePoint(Number(code)));
    expect(text).toContain('curl -X POST "$POSTRIDER_URL/t/$TARGET_ID"');
    expect(text).toContain("await postrider.sendItem(targetId, {");
    expect(text).toContain('os.environ["POSTRIDER_URL"] + f"/t/{target_id}"');
    const bare = operations
      .filter(({ operation: { requestBody } }) => requestBody?.required === true)
      .filter(({ operation }) => operation.requestBody!.content["application/json"].examples === undefined);
    // Only the payment processor and MCP clients call these.
    expect(bare.map(({ operation }) => operation.operationId).sort()).toEqual([
      "callTools",
      "receiveBillingEvent",
    ]);
    const events = (await node.service.app.inject({ url: "/docs/events" })).body;
    expect(events).toContain("for line in response.iter_lines():");
    const targets = (await node.service.app.inject({ url: "/docs/targets" })).body;
    expect(targets).toContain("postrider.listTargetHealth({ ids })");
  });

  it("answers 404 for an unknown page", async ({ node }) => {
    expect((await node.service.app.inject({ url: "/docs/nothing" })).statusCode).toBe(404);
    expect((await node.service.app.inject({ url: "/docs/" })).headers["location"]).toBe("../docs");
  });
});

describe("the check of every answer", () => {
  const headers = { "x-request-id": "1", "content-type": "application/json; charset=utf-8" };
  const me = { method: "GET", path: "/api/v1/auth/me", headers };
  const id = "0".repeat(32);

  it.each([
    ["an undocumented status", { ...me, status: 418, text: '{"error":"teapot"}' }, "not documented"],
    ["a failure of the service", { ...me, status: 500, text: '{"error":"internal error"}' }, "500"],
    ["an undeclared field", { ...me, status: 200, text: `{"user":{"org_id":"${id}","hash":"x"}}` }, "unlike"],
    ["a missing field", { ...me, status: 200, text: "{}" }, "unlike"],
    ["an id of another form", { ...me, status: 200, text: '{"user":{"org_id":"0-1"}}' }, "unlike"],
    ["an error with more than its message", { ...me, status: 401, text: '{"error":"x","code":1}' }, "error"],
    ["no request id", { ...me, headers: {}, status: 200, text: "{}" }, "X-Request-Id"],
    [
      "another content type",
      { ...me, headers: { ...headers, "content-type": "text/html" }, status: 200, text: "" },
      "text/html",
    ],
    [
      "an undocumented header",
      { ...me, headers: { ...headers, ratelimit: "x" }, status: 200, text: "{}" },
      "ratelimit",
    ],
    ["an undocumented route", { ...me, path: "/api/v1/secrets", status: 200, text: "{}" }, "not documented"],
  ])("rejects %s", (_what, answer, problem) => {
    expect(contractProblem(answer)).toContain(problem);
  });

  it("accepts documented answers", () => {
    expect(contractProblem({ ...me, status: 200, text: `{"user":{"org_id":"${id}"}}` })).toBeUndefined();
    expect(contractProblem({ ...me, status: 401, text: '{"error":"unauthorized"}' })).toBeUndefined();
  });

  it("sees the answers of a running service, whose schemas give the framework no reason to warn", async ({
    database,
  }) => {
    const warnings: Error[] = [];
    const note = (warning: Error): void => void warnings.push(warning);
    process.on("warning", note);
    const watched = createTestNode(database);
    const problems = watchContract(watched.service.app);
    watched.service.app.addHook("preHandler", async (_request, reply) =>
      reply.code(299).send({ planted: true }),
    );
    await watched.service.app.inject({ url: "/healthz" });
    process.off("warning", note);
    expect(warnings).toEqual([]);
    expect(problems).toHaveLength(1);
    await expect(watched.stop()).rejects.toThrow("299");
  });
});
