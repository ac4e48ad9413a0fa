import { parseSigningSecret, signingSecretOf } from "./signature.ts";
import type { SecretBox } from "./secretBox.ts";

/** Seals the key inside a `whsec_` secret for storage with its target. */
export function sealSigningSecret(box: SecretBox, targetId: string, secret: string): Buffer {
  return box.seal(parseSigningSecret(secret), contextOf(targetId));
}

/** The signing key that {@link sealSigningSecret} sealed. @throws {Error} when it belongs to another target. */
export function openSigningKey(box: SecretBox, targetId: string, sealed: Buffer): Buffer {
  return box.open(sealed, contextOf(targetId));
}

/** The `whsec_` secret that {@link sealSigningSecret} sealed, as its owner first saw it. @throws {Error} as above. */
export function openSigningSecret(box: SecretBox, targetId: string, sealed: Buffer): string {
  return signingSecretOf(openSigningKey(box, targetId, sealed));
}

function contextOf(targetId: string): string {
  return `signing-secret:${targetId}`;
}
