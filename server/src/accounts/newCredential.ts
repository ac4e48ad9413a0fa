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

/** A credential as it is made: its text, which is known at this moment only, and the hash that is stored. */
export interface NewCredential {
  token: string;
  hash: Buffer;
}

/** 256 random bits in 64 hex characters, behind what tells its kind. */
function newCredential(prefix: string): NewCredential {
  const token = `${prefix}${randomBytes(32).toString("hex")}`;
  return { token, hash: hashCredential(token) };
}

/** A new API key, `ak_live_…`. */
export function newApiKey(): NewApiKey {
  const { token: key, hash } = newCredential("ak_live_");
  return { key, hash, prefix: key.slice(0, 12) };
}

/** The token of a new invitation, `inv_…`. */
export const newInvitationToken = (): NewCredential => newCredential("inv_");

/** The code of a new link to the portal, `plc_…`. */
export const newPortalCode = (): NewCredential => newCredential("plc_");

/** The token of a new session of the portal, `pse_…`. */
export const newPortalToken = (): NewCredential => newCredential("pse_");

/** The token of a new link to reset a password, `rst_…`. */
export const newResetToken = (): NewCredential => newCredential("rst_");

/** The token of a new session, `ses_…`. */
export const newSessionToken = (): NewCredential => newCredential("ses_");
