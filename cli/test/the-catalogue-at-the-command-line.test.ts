import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect } from "vitest";
import { file } from "../../server/test/support/fixtures.ts";
import { shopDocument } from "../../server/test/support/shopDocument.ts";
import { clientTest } from "./support/clientTest.ts";

const it = clientTest.extend(
  "eventType",
  file,
  ({ postrider }) =>
    (args: readonly string[], input = "") =>
      postrider(["event-type", ...args], input),
);

describe("an event type", () => {
  const schema = { type: "object", properties: { order: { type: "integer" } } };

  it("is created from files and standard input, shown, listed, deprecated and deleted", async ({
    eventType,
    inFile,
  }) => {
    const about = ["--description", "An order was paid.", "--group", "Orders"];
    const parts = ["--schema", inFile("schema.json", schema), "--example", "-"];
    const made = await eventType(["put", "order.paid", ...about, ...parts, "--json"], '{"order": 7}');
    expect([made.code, made.err]).toEqual([0, ""]);
    const [type] = made.json();
    expect(type).toMatchObject({
      name: "order.paid",
      description: "An order was paid.",
      group: "Orders",
      schema,
      example: { order: 7 },
    });
    expect((await eventType(["get", "order.paid"])).out).toMatch(
      /^name +order\.paid\n[^]*\nschema +\{"type"/,
    );
    expect(JSON.parse((await eventType(["get", "order.paid", "--only", "schema"])).out)).toEqual(schema);

    const [deprecated] = (await eventType(["deprecate", "order.paid", "--json"])).json();
    expect(deprecated).toMatchObject({ deprecated: true, group: "Orders", schema, example: { order: 7 } });
    const names = async (...args: string[]): Promise<string> =>
      (await eventType(["list", "--names", "--prefix", "order.", ...args])).out;
    expect([await names("--deprecated"), await names("--current")]).toEqual(["order.paid\n", ""]);
    await eventType(["deprecate", "order.paid", "--undo"]);
    expect([await names("--deprecated"), await names("--current")]).toEqual(["", "order.paid\n"]);
    expect((await eventType(["list"])).out).toMatch(
      /^NAME .*\norder\.paid +Orders +false .* An order was paid\.\n/,
    );

    expect((await eventType(["delete", "order.paid"])).code).toBe(2);
    const gone = await eventType(["delete", "order.paid", "--yes", "--json"]);
    expect(gone.json()).toEqual([{ name: "order.paid", deleted: true, naming_targets: 0 }]);
    expect((await eventType(["get", "order.paid"])).code).toBe(4);
    expect(await eventType(["list", "--prefix", "order."])).toMatchObject({
      code: 0,
      out: "",
      err: expect.stringMatching(/event-type put/),
    });
  });

  it("is listed across pages, sorted by name", async ({ eventType, inFile }) => {
    const names = Array.from({ length: 101 }, (_, at) => `paged.${String(at).padStart(3, "0")}`);
    const webhooks = Object.fromEntries(names.map((name) => [name, { post: {} }]));
    const document = inFile("many.json", { openapi: "3.1.0", info: { title: "T", version: "1" }, webhooks });
    expect((await eventType(["import", document])).code).toBe(0);
    const listed = await eventType(["list", "--names", "--prefix", "paged."]);
    expect(listed.out).toBe(`${names.join("\n")}\n`);
  });

  it.for([
    ["nonsense", ["put", "a", "--schema", "-"], "{", 2, /the schema is not valid JSON/],
    ["a schema that is none", ["put", "a", "--schema", "-"], '{"type": "text"}', 2, /schema\.type/],
    ["a list for a schema", ["put", "a", "--schema", "-"], "[]", 2, /the schema must be a JSON object/],
    ["one input for two", ["put", "a", "--schema", "-", "--example", "-"], "{}", 2, /only once/],
    [
      "a file that is not there",
      ["put", "a", "--schema", "/nowhere/at-all"],
      "",
      4,
      /cannot read the schema/,
    ],
    ["no name", ["put", "order.*"], "", 2, /name must be/],
    ["a type that is not there", ["deprecate", "none.such"], "", 4, /no event type none\.such/],
    ["both halves of a list", ["list", "--deprecated", "--current"], "", 2, /use either/],
  ] as const)("is refused for %s", async ([, args, input, code, text], { eventType }) => {
    const ended = await eventType(args, input);
    expect([ended.code, ended.out]).toEqual([code, ""]);
    expect(ended.err).toMatch(text);
  });
});

describe("an OpenAPI document", () => {
  it("is imported after a dry run, and refused webhooks are named", async ({ eventType, inFile }) => {
    const document = inFile("shop.json", shopDocument);
    const tried = await eventType(["import", document, "--dry-run", "--json"]);
    expect(tried.json()[0]).toMatchObject({ dry_run: true, created: expect.arrayContaining(["order.paid"]) });
    expect((await eventType(["get", "order.paid"])).code).toBe(4);
    const imported = await eventType(["import", document]);
    expect(imported.out).toMatch(/^created +order\.paid$/m);
    expect(imported.err).toMatch(/^circle is refused: /m);
    expect([imported.code, imported.err]).toEqual([
      1,
      expect.stringMatching(/\d of the document's webhooks were refused\n$/),
    ]);
    const good = { ...shopDocument, webhooks: { "order.paid": shopDocument.webhooks["order.paid"] } };
    const again = await eventType(["import", "-"], JSON.stringify(good));
    expect([again.code, again.out]).toEqual([0, "unchanged  order.paid\n"]);
    const yaml =
      "openapi: 3.1.0\nwebhooks:\n  parcel.sent:\n    post: {description: A parcel left., tags: [Parcels]}\n";
    expect((await eventType(["import", "-"], yaml)).out).toBe("created    parcel.sent\n");
    expect((await eventType(["get", "parcel.sent", "--json"])).json()[0]).toMatchObject({ group: "Parcels" });
    expect(await eventType(["import", "-"], "openapi: [")).toMatchObject({
      code: 2,
      err: expect.stringMatching(/the document is not valid YAML: /),
    });
  });

  it("is refused unless it is UTF-8, because its letters would be lost", async ({ eventType, place }) => {
    const document = join(place, "latin1.json");
    writeFileSync(document, Buffer.from(JSON.stringify({ info: { title: "Caf\u00e9" } }), "latin1"));
    expect(await eventType(["import", document])).toMatchObject({
      code: 2,
      err: expect.stringMatching(/the document is not UTF-8/),
    });
  });
});
