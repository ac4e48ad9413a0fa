import { randomBytes } from "node:crypto";
import { hashCredential } from "../http/contract/credentials.ts";

/** A new API key; its text is not stored. */
export interface NewApiKey {
  /** `ak_live_` and 64 hex characters. */
  key: string;
  hash: Buffer;
  /** The first 12 characters, which lists show. */
  prefix: string;
}

/** A new credential: its text, which is not stored, and its hash, which is. */
export interface NewCredential {
  token: string;
  hash: Buffer;
}

/** Makes 256 random bits in 64 hex characters, after a prefix that names the kind. */
function newCredential(prefix: string): NewCredential {
  const token = `${prefix}${randomBytes(32).toString("hex")}`;
  return { token, hash: hashCredential(token) };
}

/** Makes an API key, `ak_live_…`. */
export function newApiKey(): NewApiKey {
  const { token: key, hash } = newCredential("ak_live_");
  return { key, hash, prefix: key.slice(0, 12) };
}

/** Makes the token of an invitation, `inv_…`. */
export const newInvitationToken = (): NewCredential => newCredential("inv_");

/** Makes the code of a link to the portal, `plc_…`. */
export const newPortalCode = (): NewCredential => newCredential("plc_");

/** Makes the token of a portal session, `pse_…`. */
export const newPortalToken = (): NewCredential => newCredential("pse_");

/** Makes the token of a link to reset a password, `rst_…`. */
export const newResetToken = (): NewCredential => newCredential("rst_");

/** Makes the token of a session, `ses_…`. */
export const newSessionToken = (): NewCredential => newCredential("ses_");
