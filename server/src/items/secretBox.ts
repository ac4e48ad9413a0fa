import { createCipheriv, createDecipheriv, createHash, randomBytes } from "node:crypto";
import { parseSigningSecret, signingSecretOf } from "./signature.ts";

const cipherName = "aes-256-gcm";
const keyBytes = 32;
const formatVersion = 1;
const keyIdBytes = 4;
const nonceBytes = 12;
const tagBytes = 16;
const nonceStart = 1 + keyIdBytes;
const cipherStart = nonceStart + nonceBytes;

/** Encrypts secrets for storage in the database. */
export interface SecretBox {
  /** @param context names the secret's owner (`signing-secret:<target id>`); the secret opens only with the same context. */
  seal(plain: Buffer, context: string): Buffer;
  /** @throws {Error} when the bytes were changed, belong to another context, or were sealed with a key that is not configured. */
  open(sealed: Buffer, context: string): Buffer;
}

/** The key to seal with, and former keys, which open secrets that were sealed before a rotation. 32 bytes each. */
export interface SecretBoxKeys {
  current: Buffer;
  previous?: readonly Buffer[];
}

/**
 * AES-256-GCM with a random nonce and the context as associated data.
 *
 * Layout: version (1 byte, 1), key id (4 bytes, the start of the key's SHA-256), nonce (12), ciphertext, tag (16).
 * The key id finds the key without trying all of them. Random nonces are safe up to 2^32 seals per key
 * (NIST SP 800-38D §8.3); the service seals once per new secret.
 *
 * @throws Error when a key is not 32 bytes.
 */
export function createSecretBox({ current, previous = [] }: SecretBoxKeys): SecretBox {
  const keys = new Map<number, Buffer>();
  for (const key of [...previous, current]) {
    if (key.length !== keyBytes) {
      throw new Error(`an encryption key has ${keyBytes} bytes, not ${key.length}`);
    }
    keys.set(keyId(key), key);
  }
  const currentId = keyId(current);
  return {
    seal: (plain, context) => seal(current, currentId, plain, context),
    open: (sealed, context) => open(keys, sealed, context),
  };
}

/** Whether one of the keys has the key id in `sealed`. Does not decrypt. */
export function isSealedWithOneOf({ current, previous = [] }: SecretBoxKeys, sealed: Buffer): boolean {
  if (sealed.length < nonceStart) return false;
  return [current, ...previous].some((key) => keyId(key) === sealed.readUInt32BE(1));
}

function keyId(key: Buffer): number {
  return createHash("sha256").update(key).digest().readUInt32BE(0);
}

function seal(key: Buffer, id: number, plain: Buffer, context: string): Buffer {
  const header = Buffer.allocUnsafe(nonceStart);
  header.writeUInt8(formatVersion, 0);
  header.writeUInt32BE(id, 1);
  const nonce = randomBytes(nonceBytes);
  const cipher = createCipheriv(cipherName, key, nonce, { authTagLength: tagBytes });
  cipher.setAAD(associatedData(header, context));
  return Buffer.concat([header, nonce, cipher.update(plain), cipher.final(), cipher.getAuthTag()]);
}

function open(keys: ReadonlyMap<number, Buffer>, sealed: Buffer, context: string): Buffer {
  if (sealed.length < cipherStart + tagBytes || sealed.readUInt8(0) !== formatVersion) {
    throw new Error("a sealed secret has an unknown format");
  }
  const key = keys.get(sealed.readUInt32BE(1));
  if (key === undefined) {
    throw new Error(
      "a sealed secret needs an encryption key that is not configured; give the former key as well",
    );
  }
  const cipherEnd = sealed.length - tagBytes;
  const nonce = sealed.subarray(nonceStart, cipherStart);
  const decipher = createDecipheriv(cipherName, key, nonce, { authTagLength: tagBytes });
  decipher.setAAD(associatedData(sealed.subarray(0, nonceStart), context));
  decipher.setAuthTag(sealed.subarray(cipherEnd));
  try {
    return Buffer.concat([decipher.update(sealed.subarray(cipherStart, cipherEnd)), decipher.final()]);
  } catch (cause) {
    throw new Error("a sealed secret was changed or belongs elsewhere", { cause });
  }
}

/** Header and context. The header has a fixed length, so that the boundary between them is unambiguous. */
function associatedData(header: Buffer, context: string): Buffer {
  return Buffer.concat([header, Buffer.from(context)]);
}

/** Seals the key inside a `whsec_` secret for storage with its target. */
export function sealSigningSecret(box: SecretBox, targetId: string, secret: string): Buffer {
  return box.seal(parseSigningSecret(secret), contextOf(targetId));
}

/** The signing key that {@link sealSigningSecret} sealed. @throws {Error} when it belongs to another target. */
export function openSigningKey(box: SecretBox, targetId: string, sealed: Buffer): Buffer {
  return box.open(sealed, contextOf(targetId));
}

/** The `whsec_` secret that {@link sealSigningSecret} sealed. @throws {Error} when it belongs to another target. */
export function openSigningSecret(box: SecretBox, targetId: string, sealed: Buffer): string {
  return signingSecretOf(openSigningKey(box, targetId, sealed));
}

function contextOf(targetId: string): string {
  return `signing-secret:${targetId}`;
}
