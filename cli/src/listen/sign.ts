import { createHmac, randomBytes } from "node:crypto";

const prefix = "whsec_";
/** Standard Webhooks asks for 24 to 64 bytes. */
const secretBytes = 24;

export function newSigningSecret(): string {
  return `${prefix}${randomBytes(secretBytes).toString("base64")}`;
}

/** Whether text can be used as a signing secret: `whsec_` and base64 of 24 to 64 bytes, as targets have them. */
export function isSigningSecret(text: string): boolean {
  const bytes = Buffer.from(text.slice(prefix.length), "base64");
  return text.startsWith(prefix) && bytes.length >= secretBytes && bytes.length <= 64;
}

/** The `webhook-signature` of a delivery by Standard Webhooks, as a webhook target's deliveries carry it. */
export function signatureOf(secret: string, id: string, timestamp: number, body: string): string {
  const key = Buffer.from(secret.slice(prefix.length), "base64");
  const digest = createHmac("sha256", key).update(`${id}.${timestamp}.`).update(body).digest("base64");
  return `v1,${digest}`;
}
