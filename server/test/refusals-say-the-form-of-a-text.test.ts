import { describe, expect } from "vitest";
import { type AppDeps, interfaceRoutes } from "../src/app.ts";
import { loadConfig } from "../src/config/config.ts";
import { rules } from "../src/http/contract/textForms.ts";
import { tools } from "../src/mcp/toolServer.ts";
import { sharedNodeTest } from "./support/fixtures.ts";

const it = sharedNodeTest();

const id = "32 lower-case hexadecimal characters";
const token = "64 lower-case hexadecimal characters";
const words = "a secret of many words";

describe("a text that does not have the form of its field is refused with the form in words:", () => {
  it.for<[string, string]>([
    ["/api/v1/events?before=x", `before must be ${id}`],
    ["/api/v1/events?event_type=%C3%A9", "event_type must be 1 to 256 printable ASCII characters"],
    ["/api/v1/events?correlation_id=a%20b", "correlation_id must be 1 to 128 letters, digits, - and _"],
    [
      "/api/v1/events?handoff_state=working",
      "handoff_state must be 1 to 64 capital letters, digits and _, beginning with a letter, such as WORKING",
    ],
    ["/api/v1/targets?uid=a%20b", "uid must be 1 to 128 characters of A-Z a-z 0-9 . _ : -"],
    [
      "/api/v1/targets?customer_uid=a%20b",
      "customer_uid must be at most 128 characters of A-Z a-z 0-9 . _ : -",
    ],
  ])("GET %s", async ([path, error], { call }) => {
    expect(await call("GET", path)).toMatchObject({ status: 400, body: { error } });
  });

  it("the id of the last event of a stream", async ({ call }) => {
    const answer = await call("GET", "/api/v1/stream", undefined, { "last-event-id": "x" });
    const form = "an id that the stream sent: digits, - and 8 lower-case hexadecimal characters";
    expect(answer).toMatchObject({ status: 400, body: { error: `last-event-id must be ${form}` } });
  });

  it("an event type of an endpoint", async ({ call }) => {
    const answer = await call("POST", "/api/v1/endpoints", {
      name: "shop",
      url: "https://example.com/",
      event_types: ["é"],
    });
    const error = "event_types.0 must be printable ASCII characters";
    expect(answer).toMatchObject({ status: 400, body: { error } });
  });

  // The equality also shows that no message repeats a secret.
  it("the credential of an agent", async ({ call }) => {
    const auth = { type: "bearer", token: words };
    const agent = { kind: "a2a", name: "agent", agent_card_url: "https://example.com/card.json", auth };
    const error = "auth.token must be printable ASCII characters without spaces";
    expect(await call("POST", "/api/v1/targets", agent)).toMatchObject({ status: 400, body: { error } });
  });

  it.for<[string, object, string]>([
    [
      "/api/v1/auth/password-reset/confirm",
      { token: words, password: "long enough a password" },
      `token must be the token of a reset link: rst_ and ${token}`,
    ],
    [
      "/api/v1/invitations/accept",
      { token: words, password: "long enough a password" },
      `token must be the token of an invitation: inv_ and ${token}`,
    ],
    ["/api/v1/portal/sessions", { code: words }, `code must be the code of a portal link: plc_ and ${token}`],
  ])("POST %s", async ([path, body, error], { node }) => {
    expect(await node.call("POST", path, { body })).toMatchObject({ status: 400, body: { error } });
  });
});

it("every pattern in the schema of a request or of a tool's arguments has words", () => {
  const routes = interfaceRoutes({ config: loadConfig({}) } as AppDeps);
  const ofRequests = routes.flatMap(({ body, query, headers }) => patternsIn([body, query, headers]));
  const ofTools = tools.flatMap(({ inputSchema }) => patternsIn(inputSchema));
  expect(new Set(ofRequests).size).toBeGreaterThan(10);
  expect(new Set(ofTools).size).toBeGreaterThan(4);
  expect([...ofRequests, ...ofTools].filter((pattern) => !rules.has(pattern))).toEqual([]);
});

/** The values of `pattern` at any depth of a schema. */
function patternsIn(schema: unknown): unknown[] {
  const found: unknown[] = [];
  JSON.stringify(schema, (keyword, value: unknown) => {
    if (keyword === "pattern") found.push(value);
    return value;
  });
  return found;
}
