import { describe, expect, it } from "vitest";
import { type CredentialForm, securityRequirements, unmetSecurity } from "./cardSecurity.ts";

const none: CredentialForm = { type: "none" };
const bearer: CredentialForm = { type: "bearer" };
const apiKey: CredentialForm = { type: "api_key", header: "x-api-key" };

const schemes = {
  http: { httpAuthSecurityScheme: { scheme: "Bearer" } },
  leaked: { scheme: { $case: "httpAuthSecurityScheme", value: { scheme: "bearer" } } },
  basic: { type: "http", scheme: "basic" },
  key: { apiKeySecurityScheme: { location: "header", name: "X-API-Key" } },
  queryKey: { type: "apiKey", in: "query", name: "key" },
  oauth: { oauth2SecurityScheme: { flows: {} } },
  tls: { mtlsSecurityScheme: {} },
};

function problem(requirements: unknown, form: CredentialForm): string | undefined {
  return unmetSecurity(
    securityRequirements({ securitySchemes: schemes, securityRequirements: requirements }),
    form,
  );
}

/** One alternative of schemes, in the form of ProtoJSON. */
const all = (...names: string[]): object => ({
  schemes: Object.fromEntries(names.map((name) => [name, { list: [] }])),
});

describe("a card's security requirements", () => {
  it.for<[string, unknown, CredentialForm[], CredentialForm[]]>([
    ["nothing", [], [none, bearer, apiKey], []],
    ["nothing that can be read", "x", [none], []],
    ["an empty alternative", [all("tls"), all()], [none], []],
    ["a bearer", [all("http")], [bearer], [none, apiKey]],
    ["a bearer, as the SDK leaks it", [all("leaked")], [bearer], [none]],
    ["a bearer, as OpenAPI writes it", [{ http: [] }], [bearer], [none]],
    ["an OAuth token", [all("oauth")], [bearer], [none]],
    ["a key in a header", [all("key")], [apiKey], [none, bearer]],
    ["either", [all("key"), all("http")], [apiKey, bearer], [none]],
    ["both", [all("key", "http")], [], [none, bearer, apiKey]],
    ["HTTP basic", [all("basic")], [{ type: "api_key", header: "Authorization" }], [bearer]],
    ["a key in the query", [all("queryKey")], [], [none, apiKey]],
    ["mutual TLS", [all("tls")], [], [none, bearer]],
    ["a scheme that is not there", [all("missing")], [], [none, bearer]],
  ])("%s", ([, requirements, met, unmet]) => {
    for (const form of met) expect(problem(requirements, form), form.type).toBeUndefined();
    for (const form of unmet) expect(problem(requirements, form), form.type).toMatch(/^requires "/);
  });

  it("are listed in the message if they are not met, with advice", () => {
    expect(problem([all("key")], none)).toBe(
      'requires "key" (an API key in the header X-API-Key), which auth of type none does not provide: set auth to {"type": "api_key", "header": "X-API-Key", "value": "…"}',
    );
    expect(problem([all("tls"), all("http")], none)).toBe(
      'requires "tls" (mutual TLS), or "http" (an HTTP bearer token), which auth of type none does not provide: set auth to {"type": "bearer", "token": "…"}',
    );
  });
});
