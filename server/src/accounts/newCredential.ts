import { randomBytes } from "node:crypto";
import { hashCredential } from "../http/contract/credentials.ts";

/** An API key at its creation, the only moment its text is known. */
export interface NewApiKey {
  /** `ak_live_` and 64 hex characters. */
  key: string;
  hash: Buffer;
  /** The first 12 characters, all that is ever shown again. */
  prefix: string;
}

/** A new API key of 256 random bits. */
export function newApiKey(): NewApiKey {
  const key = `ak_live_${randomBytes(32).toString("hex")}`;
  return { key, hash: hashCredential(key), prefix: key.slice(0, 12) };
}

/** A new invitation's token of 256 random bits: `inv_` and 64 hex characters. */
export function newInvitationToken(): { token: string; hash: Buffer } {
  const token = `inv_${randomBytes(32).toString("hex")}`;
  return { token, hash: hashCredential(token) };
}

/** The code of a new link to the portal, of 256 random bits: `plc_` and 64 hex characters. */
export function newPortalCode(): { code: string; hash: Buffer } {
  const code = `plc_${randomBytes(32).toString("hex")}`;
  return { code, hash: hashCredential(code) };
}

/** The token of a new session of the portal, of 256 random bits: `pse_` and 64 hex characters. */
export function newPortalToken(): { token: string; hash: Buffer } {
  const token = `pse_${randomBytes(32).toString("hex")}`;
  return { token, hash: hashCredential(token) };
}

/** A new session token of 256 random bits: `ses_` and 64 hex characters. */
export function newSessionToken(): { token: string; hash: Buffer } {
  const token = `ses_${randomBytes(32).toString("hex")}`;
  return { token, hash: hashCredential(token) };
}
