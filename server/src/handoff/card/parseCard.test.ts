import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { parseCard } from "./parseCard.ts";

const whole = {
  name: "Translator",
  description: "Translates",
  version: "3",
  supportedInterfaces: [
    { url: "agent.example.com:443", protocolBinding: "GRPC", protocolVersion: "1.0" },
    { url: "https://agent.example.com/old", protocolBinding: "HTTP+JSON", protocolVersion: "0.3" },
    {
      url: "https://agent.example.com/a2a",
      protocolBinding: "HTTP+JSON",
      protocolVersion: "1.0",
      tenant: "",
    },
    { url: "https://agent.example.com/b", protocolBinding: "HTTP+JSON", protocolVersion: "1.0", tenant: "b" },
  ],
  capabilities: { pushNotifications: true, extensions: [{ uri: "urn:x", required: false }] },
  defaultInputModes: ["text/plain"],
  defaultOutputModes: [],
  skills: [{ id: "t" }],
};

describe("a card that can be used", () => {
  it("is used through its first HTTP+JSON interface of 1.0; an empty tenant counts as none", () => {
    const reading = read(whole);
    expect(reading).toMatchObject({
      ok: true,
      card: {
        name: "Translator",
        interface: {
          url: "https://agent.example.com/a2a",
          urlPath: "$.supportedInterfaces[2].url",
          tenant: null,
        },
        pushNotifications: true,
        extensions: ["urn:x"],
        signatures: [],
      },
    });
  });

  it("may have unknown fields, including the security schemes in the SDK's internal form", () => {
    const extra = {
      ...whole,
      url: "https://agent.example.com/old",
      securitySchemes: { b: { scheme: { $case: "httpAuthSecurityScheme", value: { scheme: "Bearer" } } } },
      preferredTransport: 7,
    };
    expect(read(extra).ok).toBe(true);
  });
});

describe("a card that cannot be used is refused with the path of its fault", () => {
  const { supportedInterfaces: _interfaces, ...without } = whole;
  const cases: [string, unknown, string][] = [
    ["an older card", { ...without, url: "https://a.example", protocolVersion: "0.3.0" }, "is of A2A 0.3.0"],
    [
      "an older card without version",
      { ...without, url: "https://a.example" },
      "is of A2A 0.3 (it has $.url",
    ],
    ["no interfaces", without, "lacks $.supportedInterfaces"],
    ["an empty list", { ...whole, supportedInterfaces: [] }, "$.supportedInterfaces is empty"],
    [
      "other bindings only",
      { ...whole, supportedInterfaces: whole.supportedInterfaces.slice(0, 2) },
      "no HTTP+JSON interface of A2A 1.0 in $.supportedInterfaces, only GRPC 1.0, HTTP+JSON 0.3",
    ],
    [
      "an interface without version",
      { ...whole, supportedInterfaces: [{ url: "https://a", protocolBinding: "HTTP+JSON" }] },
      "lacks $.supportedInterfaces[0].protocolVersion",
    ],
    [
      "an interface without URL",
      { ...whole, supportedInterfaces: [{ protocolBinding: "HTTP+JSON", protocolVersion: "1.0" }] },
      "lacks $.supportedInterfaces[0].url",
    ],
    [
      "a tenant of another kind",
      {
        ...whole,
        supportedInterfaces: [
          { url: "https://a", protocolBinding: "HTTP+JSON", protocolVersion: "1.0", tenant: 1 },
        ],
      },
      "$.supportedInterfaces[0].tenant",
    ],
    [
      "a required extension",
      { ...whole, capabilities: { extensions: [{ uri: "urn:a" }, { uri: "urn:b", required: true }] } },
      "requires the extension urn:b (at $.capabilities.extensions[1])",
    ],
    [
      "an extension whose URI would end a header",
      { ...whole, capabilities: { extensions: [{ uri: "urn:a" }, { uri: "urn:b\r\nx-evil: 1" }] } },
      "has no URI at $.capabilities.extensions[1].uri",
    ],
    [
      "an empty URI",
      { ...whole, capabilities: { extensions: [{ uri: "" }] } },
      "$.capabilities.extensions[0].uri",
    ],
    ["a name with a line end", { ...whole, name: "a\nb" }, "control or bidirectional character (at $.name)"],
    ["a version turned around", { ...whole, version: "1\u202e2" }, "(at $.version)"],
    ["a name without end", { ...whole, name: "n".repeat(257) }, "has more than 256 characters at $.name"],
    ["a version without end", { ...whole, version: "1".repeat(257) }, "256 characters at $.version"],
    ["no skills", { ...whole, skills: undefined }, "lacks $.skills"],
    ["a mode that is no text", { ...whole, defaultInputModes: [null] }, "null at $.defaultInputModes[0]"],
    ["a name of another kind", { ...whole, name: { en: "x" } }, "an object at $.name instead of a string"],
    ["a NUL", { ...whole, provider: { organization: "a\0b" } }, "NUL character (at $.provider.organization)"],
    ["a lone surrogate", { ...whole, description: "\ud800" }, "lone surrogate (at $.description)"],
    ["an array", [whole], "must be a JSON object, not an array"],
  ];
  it.each(cases)("%s", (_name, document, problem) => {
    const reading = read(document);
    expect(reading).toMatchObject({ ok: false, problem: expect.stringContaining(problem) as string });
  });

  it("data that is not JSON, not UTF-8 or nests too deeply is refused", () => {
    expect(problemOf(Buffer.from("<html>"))).toBe("is not JSON");
    expect(problemOf(Buffer.from([0xff, 0xfe, 0x7b]))).toBe("is not UTF-8 text");
    const deep = `{"a":${"[".repeat(100_000)}${"]".repeat(100_000)}}`;
    expect(problemOf(Buffer.from(deep))).toBe("is nested deeper than 64 levels");
  });

  it("any document is read without an exception", () => {
    fc.assert(
      fc.property(fc.json(), fc.constantFrom(...Object.keys(whole)), (json, field) => {
        const document = { ...whole, [field]: JSON.parse(json) as unknown };
        const reading = read(document);
        expect(reading.ok || reading.problem.length < 1_000).toBe(true);
      }),
    );
  });
});

function read(document: unknown): ReturnType<typeof parseCard> {
  return parseCard(Buffer.from(JSON.stringify(document)));
}

function problemOf(bytes: Buffer): string | undefined {
  const reading = parseCard(bytes);
  return reading.ok ? undefined : reading.problem;
}
