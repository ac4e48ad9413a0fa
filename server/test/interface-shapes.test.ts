import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { JsonSchema } from "../src/http/openapiSchemas.ts";
import { openApi } from "./support/contract.ts";
import { createTestDatabase, type TestDatabase } from "./support/database.ts";
import { createTestNode, signUp, type TestNode } from "./support/testNode.ts";

// The black-box tests check every answer against the OpenAPI document; this file checks the document itself
// against the contract's tables, field by field and route by route.

type Type = "string" | "integer" | "boolean" | "object" | "array" | "string or null" | "integer or null";

const resources: Record<string, Record<string, Type>> = {
  User: { id: "string", email: "string", name: "string", org_id: "string", role: "string" },
  Target: {
    id: "string",
    kind: "string",
    name: "string",
    description: "string",
    enabled: "boolean",
    url: "string",
    secret: "string",
    signing_scheme: "string",
    has_previous_signing_secret: "boolean",
    created_at: "integer",
    updated_at: "integer",
  },
  NewTarget: { kind: "string", name: "string", url: "string", agent_card_url: "string", auth: "object" },
  Endpoint: {
    id: "string",
    name: "string",
    url: "string",
    description: "string",
    event_types: "string",
    max_payload_bytes: "integer",
    max_retries: "integer",
    retry_interval_seconds: "integer",
    enabled: "boolean",
    created_at: "integer",
    updated_at: "integer",
  },
  Event: {
    id: "string",
    org_id: "string",
    endpoint_id: "string",
    event_type: "string or null",
    status: "string",
    retry_count: "integer",
    max_retries: "integer",
    is_replay: "integer",
    source_event_id: "string or null",
    created_at: "integer",
    updated_at: "integer",
  },
  DeliveryAttempt: {
    id: "string",
    event_id: "string",
    status_code: "integer",
    duration_ms: "integer",
    error: "string or null",
    attempted_at: "integer",
  },
  Organization: {
    id: "string",
    name: "string",
    slug: "string",
    billing_status: "string",
    billing_grace_ends_at: "integer or null",
    created_at: "integer",
  },
  Usage: {
    period_start: "integer",
    period_end: "integer",
    accepted_events: "integer",
    estimated_units: "integer",
    estimated_cents: "integer",
    pending_meter_events: "integer",
  },
  Billing: {
    status: "string",
    billing_enabled: "boolean",
    grace_ends_at: "integer or null",
    has_payment_method: "boolean",
    currency: "string",
    price_cents: "integer",
    unit_size: "integer",
  },
};

function typeOf({ type }: JsonSchema): unknown {
  return Array.isArray(type) ? type.join(" or ") : type;
}

function schemaOf(name: string): { properties: Record<string, JsonSchema>; required?: string[] } {
  const schema = openApi.components.schemas[name];
  if (schema === undefined) throw new Error(`there is no schema ${name}`);
  return schema as ReturnType<typeof schemaOf>;
}

describe("the fields of the contract", () => {
  it.each(Object.keys(resources))("%s", (name) => {
    const { properties } = schemaOf(name);
    const types = Object.fromEntries(
      Object.keys(resources[name]!).map((field) => [field, typeOf(properties[field] ?? {})]),
    );
    expect(types).toEqual(resources[name]);
  });

  it("a listed event has six fields, and more only on request", () => {
    expect(schemaOf("EventSummary").required?.toSorted()).toEqual(
      ["created_at", "endpoint_id", "event_type", "id", "status", "updated_at"].sort(),
    );
  });

  it("an endpoint is never shown with its secret", () => {
    expect(schemaOf("Endpoint").properties).not.toHaveProperty("secret");
  });

  it("ids are 32 lower-case hex characters, with the prefix da_ for attempts", () => {
    for (const name of ["User", "Target", "Endpoint", "Event", "Organization"]) {
      expect(schemaOf(name).properties["id"]).toMatchObject({ pattern: "^[0-9a-f]{32}$" });
    }
    expect(schemaOf("DeliveryAttempt").properties["id"]).toMatchObject({ pattern: "^da_[0-9a-f]{32}$" });
  });
});

const routes: [route: string, success: number, fields: string[]][] = [
  ["POST /api/v1/auth/login", 200, ["user", "session_token"]],
  ["POST /api/v1/auth/logout", 200, ["ok"]],
  ["POST /api/v1/auth/logout-all", 200, ["ok", "sessions_revoked"]],
  ["GET /api/v1/auth/me", 200, ["user"]],
  ["POST /api/v1/keys", 200, ["id", "name", "key"]],
  ["GET /api/v1/keys", 200, ["keys"]],
  ["DELETE /api/v1/keys/{id}", 200, ["deleted"]],
  ["GET /api/v1/targets", 200, ["targets"]],
  ["POST /api/v1/targets", 200, ["id", "kind", "name", "enabled"]],
  ["GET /api/v1/targets/{id}", 200, ["id", "kind", "name", "enabled"]],
  ["PATCH /api/v1/targets/{id}", 200, ["id", "kind", "name", "enabled"]],
  ["DELETE /api/v1/targets/{id}", 200, ["deleted"]],
  ["POST /api/v1/targets/{id}/refresh", 200, ["id", "kind", "name", "enabled"]],
  ["POST /api/v1/targets/{id}/signing-secret/rotate", 200, ["id", "kind", "name", "enabled"]],
  ["DELETE /api/v1/targets/{id}/signing-secret/previous", 200, ["deleted"]],
  ["POST /t/{target_id}", 202, ["id", "status"]],
  ["POST /e/{endpoint_id}", 202, ["id", "status"]],
  ["GET /api/v1/endpoints", 200, ["endpoints"]],
  ["POST /api/v1/endpoints", 200, ["id", "secret"]],
  ["GET /api/v1/endpoints/{id}", 200, ["endpoint"]],
  ["PATCH /api/v1/endpoints/{id}", 200, ["endpoint"]],
  ["DELETE /api/v1/endpoints/{id}", 200, ["deleted"]],
  ["GET /api/v1/mailboxes/{mailbox_id}/messages", 200, ["messages"]],
  ["GET /api/v1/mailbox-messages/{message_id}", 200, ["id", "status", "payload"]],
  ["POST /api/v1/mailbox-messages/{message_id}/claim", 200, ["id", "status", "payload"]],
  ["POST /api/v1/mailbox-messages/{message_id}/ack", 200, ["id", "status"]],
  ["GET /api/v1/events", 200, ["events"]],
  ["GET /api/v1/events/{id}", 200, ["event", "delivery_attempts"]],
  ["POST /api/v1/events/{id}/replay", 202, ["id", "status", "source_event_id"]],
  ["GET /api/v1/orgs", 200, ["org"]],
  ["PATCH /api/v1/orgs", 200, ["updated"]],
  ["GET /api/v1/billing", 200, ["status", "billing_enabled"]],
  ["POST /api/v1/billing/checkout", 200, ["url"]],
  ["GET /api/v1/billing/portal", 200, ["url"]],
  ["GET /api/v1/billing/invoices", 200, ["invoices", "billing_enabled"]],
  ["GET /api/v1/billing/reconciliation", 200, ["status"]],
  ["GET /api/v1/usage", 200, ["usage"]],
];

describe("the routes of the contract answer with its status and fields", () => {
  it.each(routes)("%s", (route, success, fields) => {
    const [method, path] = route.split(" ") as [string, string];
    const { responses } = openApi.paths[path]![method.toLowerCase()]!;
    expect(Object.keys(responses).filter((status) => status.startsWith("2"))).toEqual([String(success)]);
    const content = responses[success]!["content"] as Record<string, { schema: JsonSchema }>;
    const { schema } = content["application/json"]!;
    const reference = schema["$ref"];
    const { required = [] } = typeof reference === "string" ? schemaOf(reference.split("/").at(-1)!) : schema;
    expect(required).toEqual(expect.arrayContaining(fields));
  });
});

describe("timestamps", () => {
  let database: TestDatabase;
  let node: TestNode;

  beforeAll(async () => {
    database = await createTestDatabase();
    node = createTestNode(database);
  });

  afterAll(async () => {
    await node.stop();
    await database.drop();
  });

  it("are whole Unix seconds of the current time in everything just created", async () => {
    const { api_key: key } = await signUp(node);
    const target = await node.call("POST", "/api/v1/targets", { key, body: { kind: "mailbox", name: "m" } });
    const item = await node.call("POST", `/t/${target.body.id}`, { key, body: {} });
    const answers = await Promise.all(
      [
        "/api/v1/orgs",
        "/api/v1/keys",
        "/api/v1/targets",
        "/api/v1/events",
        `/api/v1/events/${item.body.id}`,
      ].map((path) => node.call("GET", path, { key })),
    );
    const moments = JSON.stringify(answers.map(({ body }) => body)).matchAll(
      /"(?:created|updated)_at":([^,}]+)/g,
    );
    const seconds = [...moments].map(([, text]) => Number(text));
    expect(seconds.length).toBeGreaterThan(7);
    for (const one of seconds) {
      expect(Number.isInteger(one)).toBe(true);
      expect(Math.abs(Date.now() / 1000 - one)).toBeLessThan(60);
    }
  });
});
