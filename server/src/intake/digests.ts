import { hash } from "node:crypto";
import type { NewContent, NewItem } from "../items/item.ts";

const digestBytes = 16;

/** The first 16 bytes of the SHA-256, in which form idempotency keys and bodies are stored. */
export function digestOf(data: string | Buffer): Buffer {
  return hash("sha256", data, "buffer").subarray(0, digestBytes);
}

/** Digest of the idempotency key, XORed with the target's id, so that the table and its index need no column for the target. */
export function keyDigestOf({ idempotencyKey, targetId }: NewItem): Buffer | null {
  if (idempotencyKey === null) return null;
  const digest = digestOf(idempotencyKey);
  const target = Buffer.from(targetId, "hex");
  for (let index = 0; index < digestBytes; index++) digest[index]! ^= target[index]!;
  return digest;
}

/** The digest of the payload; null without an idempotency key. */
export function bodyDigestOf({ idempotencyKey, payload }: NewContent): Buffer | null {
  return idempotencyKey === null ? null : digestOf(payload);
}
