import { generateAgentCardSignature } from "@a2a-js/sdk";
import { exportJWK, FlattenedSign, generateKeyPair, type JWK } from "jose";
import { describe, expect, it } from "vitest";
import { canonicalJson, verifyCard } from "./cardSignature.ts";
import { type AgentCard, parseCard } from "./parseCard.ts";

const keySetUrl = "https://keys.example.com/jwks.json";
const document = {
  name: "Translator",
  description: "",
  version: "1",
  supportedInterfaces: [
    { url: "https://a.example/", protocolBinding: "HTTP+JSON", protocolVersion: "1.0", tenant: "" },
  ],
  capabilities: { streaming: false, extensions: [{ uri: "urn:x", description: "", required: false }] },
  defaultInputModes: [],
  defaultOutputModes: ["text/plain"],
  skills: [],
};

describe("a signed card", () => {
  it.each(["ES256", "ES384", "RS256", "PS256", "EdDSA"])("is verified with %s", async (alg) => {
    const { privateKey, jwk } = await newKey(alg);
    const signed = await sign(document, privateKey, { alg, kid: "k1", typ: "JOSE", jku: keySetUrl });
    const finding = await verifyCard(async () => [jwk], signed);
    expect(finding).toEqual({ state: "verified", keySetUrl, detail: null });
  });

  it("signed by the SDK, which drops empty fields first, is verified in the form that its handler serves", async () => {
    const { privateKey, jwk } = await newKey("ES256");
    const signer = generateAgentCardSignature(privateKey, {
      alg: "ES256",
      kid: "k1",
      typ: "JOSE",
      jku: keySetUrl,
    });
    const scheme = {
      scheme: {
        $case: "httpAuthSecurityScheme" as const,
        value: { description: "", scheme: "Bearer", bearerFormat: "" },
      },
    };
    const served = await signer({
      ...document,
      provider: undefined,
      capabilities: {
        ...document.capabilities,
        extensions: [{ uri: "urn:x", description: "", required: false, params: undefined }],
      },
      securitySchemes: { bearer: scheme },
      securityRequirements: [],
      signatures: [],
    });
    const finding = await verifyCard(async () => [jwk], read(JSON.parse(JSON.stringify(served)) as object));
    expect(finding.state).toBe("verified");
  });

  it("that was changed afterwards is invalid", async () => {
    const { privateKey, jwk } = await newKey("ES256");
    const signed = await sign(document, privateKey, { alg: "ES256", kid: "k1", jku: keySetUrl });
    const changed = read({ ...signed.document, name: "Impostor" });
    expect(await verifyCard(async () => [jwk], changed)).toMatchObject({ state: "invalid" });
  });

  it("signed with another key of the same name is invalid", async () => {
    const [one, other] = [await newKey("ES256"), await newKey("ES256")];
    const signed = await sign(document, one.privateKey, { alg: "ES256", kid: "k1", jku: keySetUrl });
    expect(await verifyCard(async () => [other.jwk], signed)).toMatchObject({ state: "invalid" });
  });

  it("with one valid signature among others is verified", async () => {
    const [one, other] = [await newKey("ES256"), await newKey("ES256")];
    const first = await sign(document, other.privateKey, { alg: "ES256", kid: "k1", jku: keySetUrl });
    const second = await sign(document, one.privateKey, { alg: "ES256", kid: "k1", jku: keySetUrl });
    const both = read({ ...document, signatures: [...first.signatures, ...second.signatures] });
    expect(await verifyCard(async () => [one.jwk], both)).toMatchObject({ state: "verified" });
  });
});

describe("a signature that cannot be checked leaves the card unverified", () => {
  it("if it names no key set", async () => {
    const { privateKey, jwk } = await newKey("ES256");
    const signed = await sign(document, privateKey, { alg: "ES256", kid: "k1" });
    expect(await verifyCard(async () => [jwk], signed)).toMatchObject({
      state: "unverified",
      detail: expect.stringContaining("$.signatures[0]: the protected header names no key set") as string,
    });
  });

  it("if the key set cannot be read or lacks the key", async () => {
    const { privateKey, jwk } = await newKey("ES256");
    const signed = await sign(document, privateKey, { alg: "ES256", kid: "k1", jku: keySetUrl });
    expect(await verifyCard(async () => "the key set could not be read: no answer", signed)).toMatchObject({
      state: "unverified",
      detail: expect.stringContaining("no answer") as string,
    });
    expect(await verifyCard(async () => [{ ...jwk, kid: "k2" }], signed)).toMatchObject({
      state: "unverified",
      detail: expect.stringContaining("no public key named k1") as string,
    });
  });

  it("if it uses a shared secret or no algorithm", async () => {
    const secret = new TextEncoder().encode("k".repeat(32));
    const oct: JWK = { kty: "oct", kid: "k1", k: Buffer.from(secret).toString("base64url") };
    const signed = await sign(document, secret, { alg: "HS256", kid: "k1", jku: keySetUrl });
    expect(await verifyCard(async () => [oct], signed)).toMatchObject({
      state: "unverified",
      detail: expect.stringContaining("the algorithm HS256 is not one of") as string,
    });
    const none = Buffer.from(JSON.stringify({ alg: "none", jku: keySetUrl })).toString("base64url");
    const bare = read({ ...document, signatures: [{ protected: none, signature: "" }] });
    expect(await verifyCard(async () => [oct], bare)).toMatchObject({ state: "unverified" });
  });

  it("and at most three key sets are read", async () => {
    const { privateKey } = await newKey("ES256");
    const signatures = [];
    for (let number = 0; number < 10; number++) {
      const jku = `https://keys.example.com/${number}`;
      signatures.push(...(await sign(document, privateKey, { alg: "ES256", kid: "k1", jku })).signatures);
    }
    const asked: string[] = [];
    await verifyCard(
      async (url) => {
        asked.push(url);
        return [];
      },
      read({ ...document, signatures }),
    );
    expect(asked).toHaveLength(3);
  });
});

it("a card without signatures has the state none", async () => {
  const finding = await verifyCard(() => Promise.reject(new Error("nothing to ask")), read(document));
  expect(finding.state).toBe("none");
});

it("canonical JSON sorts members by UTF-16 units and writes numbers as JavaScript does (RFC 8785, 3.2.3)", () => {
  const value = JSON.parse(
    '{"\\u20ac":1,"\\r":2,"\\ufb33":3,"1":4,"\\ud83d\\ude00":5,"\\u0080":6,"n":1E21}',
  ) as unknown;
  expect(canonicalJson(value)).toBe(
    '{"\\r":2,"1":4,"n":1e+21,"\u0080":6,"\u20ac":1,"\ud83d\ude00":5,"\ufb33":3}',
  );
});

async function newKey(alg: string): Promise<{ privateKey: CryptoKey; jwk: JWK }> {
  const { privateKey, publicKey } = await generateKeyPair(alg, { extractable: true });
  return { privateKey, jwk: { ...(await exportJWK(publicKey)), kid: "k1" } };
}

async function sign(
  card: object,
  key: Parameters<FlattenedSign["sign"]>[0],
  header: { alg: string; kid?: string; typ?: string; jku?: string },
): Promise<AgentCard> {
  const payload = new TextEncoder().encode(canonicalJson(card));
  const { protected: protectedHeader, signature } = await new FlattenedSign(payload)
    .setProtectedHeader(header)
    .sign(key);
  return read({ ...card, signatures: [{ protected: protectedHeader, signature }] });
}

function read(card: object): AgentCard {
  const reading = parseCard(Buffer.from(JSON.stringify(card)));
  if (!reading.ok) throw new Error(reading.problem);
  return reading.card;
}
