import { describe, expect } from "vitest";
import { file, nodeTest } from "./support/fixtures.ts";
import { organization } from "./support/catalogue.ts";
import { leastRoundTripsOf } from "./support/roundTrips.ts";
import { shopDocument } from "./support/shopDocument.ts";

/** An import of event types into the catalogue, from an OpenAPI document. */
const it = nodeTest({ POSTRIDER_ALLOWED_NETWORKS: "127.0.0.0/8", POSTRIDER_ROLES: "api" }).extend(
  "importing",
  file,
  ({ call }) =>
    (document: object | string, query = "") =>
      call("POST", `/api/v1/event-types/import${query}`, document),
);

describe("an import", () => {
  it("reports what it would change, changes it, and changes nothing when it is repeated", async ({
    node,
  }) => {
    const { call } = await organization(node, ["ping", "other"]);
    const importing = (query = "") => call("POST", `/api/v1/event-types/import${query}`, shopDocument);
    const expected = {
      created: ["order.paid", "order.sent"],
      updated: ["ping"],
      unchanged: [],
      refused: [
        { name: "order.*", reason: expect.stringMatching(/^name must be/) },
        { name: "broken", reason: "$ref #/components/schemas/None points to nothing" },
        {
          name: "away",
          reason:
            "$ref other.json points outside the document: only references that begin with #/ are resolved",
        },
        { name: "circle", reason: "$ref #/webhooks/circle is circular" },
        { name: "wrong", reason: expect.stringMatching(/^schema\.type must be/) },
      ],
    };
    expect(await importing("?dry_run=true")).toMatchObject({
      status: 200,
      body: { dry_run: true, ...expected },
    });
    expect((await call("GET", "/api/v1/event-types")).body.event_types).toHaveLength(2);
    expect((await importing()).body).toEqual({ dry_run: false, ...expected });
    const again = await importing("?dry_run=false");
    expect(again.body).toMatchObject({
      created: [],
      updated: [],
      unchanged: ["order.paid", "order.sent", "ping"],
    });
    expect((await call("GET", "/api/v1/event-types/other")).status).toBe(200);

    const { body: paid } = await call("GET", "/api/v1/event-types/order.paid");
    const line = { type: "object", properties: { order: { $ref: "#" } } };
    expect(paid).toMatchObject({
      description: "An order was paid.",
      group: "Orders",
      deprecated: true,
      example: { lines: [] },
      schema: {
        type: "object",
        properties: { lines: { type: "array", items: { $ref: "#/$defs/Line" } }, parent: { $ref: "#" } },
        $defs: { Line: line },
      },
    });
    const { body: sent } = await call("GET", "/api/v1/event-types/order.sent");
    expect(sent.example).toEqual({ sent: 1 });
    expect(sent.schema).toMatchObject({
      allOf: [{ $ref: "#/$defs/Order" }],
      $defs: { Order: { properties: { parent: { $ref: "#/$defs/Order" } } }, Line: {} },
    });
    expect((await call("GET", "/api/v1/event-types/ping")).body.description).toBe("Is anybody there?");
  });

  it("locks the catalogue for the same number of statements with a hundred types as with two", async ({
    node,
  }) => {
    const { call } = await organization(node, []);
    const importing = (prefix: string, count: number) => {
      let imports = 0;
      return leastRoundTripsOf(node.pool, async () => {
        imports += 1;
        const names = Array.from({ length: count }, (_, n) => `${prefix}${imports}.n${n}`);
        const webhooks = Object.fromEntries(names.map((name) => [name, { post: { description: name } }]));
        const { body } = await call("POST", "/api/v1/event-types/import", { openapi: "3.1.0", webhooks });
        expect(body.created).toHaveLength(count);
      });
    };
    const few = await importing("few", 2);
    expect(await importing("many", 100)).toBe(few);
  });

  it("accepts YAML, as a JSON string", async ({ node }) => {
    const { call } = await organization(node, []);
    const yaml = `
openapi: 3.1.0
webhooks:
  order.sent: # A comment.
    post: &operation
      description: >-
        A parcel
        left.
      tags: [Orders]
  order.lost:
    post: *operation
`;
    expect((await call("POST", "/api/v1/event-types/import", yaml)).body).toMatchObject({
      created: ["order.sent", "order.lost"],
    });
    expect((await call("GET", "/api/v1/event-types/order.sent")).body).toMatchObject({
      description: "A parcel left.",
      group: "Orders",
    });
  });

  it.for([
    [
      "no document of a version with webhooks",
      { openapi: "3.0.3", webhooks: { a: {} } },
      "",
      /^openapi must be/,
    ],
    ["no webhooks", { openapi: "3.1.0" }, "", /^webhooks is required/],
    ["no object", [], "", /must be/],
    ["YAML that breaks off", "openapi: [", "", /^the document is not valid YAML: /],
    ["YAML of no object", "- openapi", "", /^the document must be an object$/],
    [
      "YAML that refers to itself a billion times",
      Array.from({ length: 9 }, (_, n) => {
        const entries = Array(9).fill(n === 0 ? "x" : `*a${n - 1}`);
        return `a${n}: &a${n} [${entries.join()}]`;
      }).join("\n"),
      "",
      /^the document is not valid YAML: /,
    ],
    [
      "YAML that nests too deep",
      `{openapi: 3.1.0, webhooks: {a: {post: ${"{x: ".repeat(3_000)}1${"}".repeat(3_000)}}}}`,
      "",
      /is nested deeper than 64 levels$/,
    ],
    [
      "YAML with half a character",
      '{openapi: 3.1.0, webhooks: {a: {post: {description: "\\uD800"}}}}',
      "",
      /lone surrogate, which is not valid Unicode$/,
    ],
    [
      "a parameter that is misspelt",
      { openapi: "3.1.0", webhooks: { a: {} } },
      "?dryrun=true",
      /did you mean dry_run\?/,
    ],
    [
      "a dry run that is neither",
      { openapi: "3.1.0", webhooks: { a: {} } },
      "?dry_run=1",
      /^dry_run must be one of/,
    ],
  ] as const)("is refused with %s", async ([, body, query, message], { importing }) => {
    expect(await importing(body, query)).toMatchObject({
      status: 400,
      body: { error: expect.stringMatching(message) },
    });
  });
});
