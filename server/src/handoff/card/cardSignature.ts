import { isJsonObject, type JsonObject } from "../../http/contract/json.ts";
import type { JWK } from "jose";
import type { AgentCard, CardSignature } from "./parseCard.ts";

/**
 * The state of a card's signatures. `verified`: valid for a key that the signer publishes. `unverified`: no such key could be
 * read. `invalid`: the signature does not match the content. `none`: the card has no signature.
 */
export type CardSignatureState = "verified" | "unverified" | "invalid" | "none";

export interface SignatureFinding {
  state: CardSignatureState;
  /** URL of the key set that verified the card; the owner of this URL vouches for the card. */
  keySetUrl: string | null;
  /** Explanation for people if the state is `unverified` or `invalid`. */
  detail: string | null;
}

/** Reads a key set (RFC 7517). A string is the reason why it could not be read. */
export type FetchKeys = (url: string) => Promise<readonly JWK[] | string>;

/** The accepted algorithms. `none` and shared secrets are not accepted, because they prove nothing. */
const algorithms = ["ES256", "ES384", "RS256", "PS256", "EdDSA"];
const publicKeyTypes = ["EC", "RSA", "OKP"];
/** Maximum number of keys tried for a signature without a key id. */
const maxKeysTried = 5;
/** Maximum number of key sets that the service reads for one card. */
const maxKeySets = 3;

/** Loaded with the first signed card, because most services never receive one. */
const jose = () => import("jose");

/** Checks a card's signatures (A2A 1.0, section 8.4.3). One valid signature is enough. */
export async function verifyCard(fetchKeys: FetchKeys, card: AgentCard): Promise<SignatureFinding> {
  if (card.signatures.length === 0) return { state: "none", keySetUrl: null, detail: null };
  const forms = signedForms(card.document).map((form) => Buffer.from(form).toString("base64url"));
  const keySets = new Map<string, readonly JWK[] | string>();
  let best: SignatureFinding | undefined;
  for (const [index, signature] of card.signatures.entries()) {
    const finding = await verifyOne(signature, forms, async (url) => {
      const known = keySets.get(url);
      if (known !== undefined) return known;
      if (keySets.size >= maxKeySets) return `the card names more than ${maxKeySets} key sets`;
      const keys = await fetchKeys(url);
      keySets.set(url, keys);
      return keys;
    });
    if (finding.state === "verified") return finding;
    if (best === undefined || (finding.state === "invalid" && best.state === "unverified")) {
      best = { ...finding, detail: `$.signatures[${index}]: ${finding.detail}` };
    }
  }
  return best!;
}

async function verifyOne(
  signature: CardSignature,
  forms: readonly string[],
  fetchKeys: FetchKeys,
): Promise<SignatureFinding> {
  const header = await readHeader(signature);
  if (typeof header === "string") return unverified(header);
  const keys = await fetchKeys(header.jku);
  if (typeof keys === "string") return unverified(keys);
  const fitting = keys
    .filter((key) => publicKeyTypes.includes(key.kty ?? ""))
    .filter((key) => header.kid === undefined || key.kid === header.kid)
    .slice(0, maxKeysTried);
  if (fitting.length === 0) return unverified(`the key set has no public key named ${shown(header.kid)}`);
  for (const key of fitting) {
    for (const payload of forms) {
      if (await holds({ ...signature, payload }, key, header.alg)) {
        return { state: "verified", keySetUrl: header.jku, detail: null };
      }
    }
  }
  return { state: "invalid", keySetUrl: null, detail: "the signature does not match the card and its key" };
}

interface Header {
  alg: string;
  kid: string | undefined;
  jku: string;
}

async function readHeader(signature: CardSignature): Promise<Header | string> {
  const { decodeProtectedHeader } = await jose();
  let header: { alg?: unknown; kid?: unknown; jku?: unknown };
  try {
    header = decodeProtectedHeader(signature);
  } catch {
    return "the protected header cannot be read";
  }
  const { alg, kid, jku } = header;
  if (typeof alg !== "string" || !algorithms.includes(alg)) {
    return `the algorithm ${shown(alg)} is not one of ${algorithms.join(", ")}`;
  }
  if (typeof jku !== "string") return "the protected header names no key set (jku)";
  return { alg, jku, kid: typeof kid === "string" ? kid : undefined };
}

async function holds(
  jws: { payload: string; protected: string; signature: string },
  key: JWK,
  algorithm: string,
): Promise<boolean> {
  const { flattenedVerify, importJWK } = await jose();
  try {
    await flattenedVerify(jws, await importJWK(key, algorithm), { algorithms });
    return true;
  } catch {
    // Another form or key may still verify the signature.
    return false;
  }
}

function unverified(detail: string): SignatureFinding {
  return { state: "unverified", keySetUrl: null, detail };
}

function shown(value: unknown): string {
  return typeof value === "string" ? value.replace(/[^\u0020-\u007e]/g, "?").slice(0, 100) : "(none)";
}

/**
 * The texts that a signature of this card may cover (A2A 1.0, section 8.4.1): the card without its signatures in canonical JSON.
 * Signers disagree on which fields are present, so several forms are tried: the card as received; without empty values, which
 * the SDKs drop before they sign; and without protobuf's other default values. The JavaScript SDK's card handler wraps `oneof`
 * fields in its own form, which its signer does not read and leaves out.
 */
function signedForms(document: JsonObject): string[] {
  const { signatures: _signatures, ...card } = document;
  const forms = [
    card,
    withoutEmpty(card) ?? {},
    withoutEmpty(withoutDefaults(card, "unwrap")) ?? {},
    withoutEmpty(withoutDefaults(card, "drop")) ?? {},
  ];
  return [...new Set(forms.map(canonicalJson))];
}

/** Canonical JSON (RFC 8785): JavaScript's notation of numbers and strings, members sorted by UTF-16 code units. */
export function canonicalJson(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(canonicalJson).join(",")}]`;
  if (!isJsonObject(value)) return JSON.stringify(value);
  const members = Object.keys(value)
    .sort()
    .map((name) => `${JSON.stringify(name)}:${canonicalJson(value[name])}`);
  return `{${members.join(",")}}`;
}

/** Removes empty values recursively. @returns undefined if the value itself is empty. */
function withoutEmpty(value: unknown): unknown {
  if (value === "" || value === null) return undefined;
  if (Array.isArray(value)) {
    const elements = value.map(withoutEmpty).filter((element) => element !== undefined);
    return elements.length > 0 ? elements : undefined;
  }
  if (!isJsonObject(value)) return value;
  const members = Object.entries(value)
    .map(([name, member]) => [name, withoutEmpty(member)] as const)
    .filter(([, member]) => member !== undefined);
  return members.length > 0 ? Object.fromEntries(members) : undefined;
}

/** Fields that protobuf writes only if they are true. */
const falseByDefault = ["required", "pkceRequired"];

function withoutDefaults(value: unknown, wrapped: "unwrap" | "drop"): unknown {
  if (Array.isArray(value)) return value.map((element: unknown) => withoutDefaults(element, wrapped));
  if (!isJsonObject(value)) return value;
  const members = Object.entries(value)
    .filter(([name, member]) => !(member === false && falseByDefault.includes(name)))
    .flatMap(([name, member]) => {
      const choice = unwrap(member);
      if (choice === undefined) return [[name, withoutDefaults(member, wrapped)] as const];
      return wrapped === "drop" ? [] : [[choice[0], withoutDefaults(choice[1], wrapped)] as const];
    });
  return Object.fromEntries(members);
}

/** Reads `{scheme: {$case: "x", value: …}}` as `{x: …}`. */
function unwrap(member: unknown): [name: string, value: unknown] | undefined {
  if (!isJsonObject(member) || typeof member["$case"] !== "string") return undefined;
  return [member["$case"], member["value"]];
}
