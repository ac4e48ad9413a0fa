import type { JWK } from "jose";
import { signedForms } from "./canonicalCard.ts";
import type { AgentCard, CardSignature } from "./parseCard.ts";

/**
 * The state of a card's signatures: `verified` by a key that its signer publishes, `unverified` because no such key could be read,
 * `invalid` because the key does not fit the content, or `none`.
 */
export type CardSignatureState = "verified" | "unverified" | "invalid" | "none";

export interface SignatureFinding {
  state: CardSignatureState;
  /** The address of the key set that verified the card: the owner of this address vouches for the card. */
  keySetUrl: string | null;
  /** For a person, when it was neither verified nor absent. */
  detail: string | null;
}

/** Reads a key set (RFC 7517); a text says why it could not be had. */
export type FetchKeys = (url: string) => Promise<readonly JWK[] | string>;

/** The algorithms that are accepted: neither `none` nor a shared secret would prove anything. */
const algorithms = ["ES256", "ES384", "RS256", "PS256", "EdDSA"];
const publicKeyTypes = ["EC", "RSA", "OKP"];
/** Keys of one set that are tried for a signature that names none. */
const maxKeysTried = 5;
/** Addresses of key sets that one card can make the service read. */
const maxKeySets = 3;

/** Loaded with the first signed card, because most services never see one. */
const jose = () => import("jose");

/** Checks a card's signatures (A2A 1.0, section 8.4.3); one that holds is enough. */
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
  return { state: "invalid", keySetUrl: null, detail: "the signature does not fit the card and its key" };
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
    // Whatever is wrong with this form or key, another may verify.
    return false;
  }
}

function unverified(detail: string): SignatureFinding {
  return { state: "unverified", keySetUrl: null, detail };
}

function shown(value: unknown): string {
  return typeof value === "string" ? value.replace(/[^\u0020-\u007e]/g, "?").slice(0, 100) : "(none)";
}
