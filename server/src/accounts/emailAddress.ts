import { domainToASCII, domainToUnicode } from "node:url";
import { type Read, unreadable } from "../http/contract/errors.ts";

/** An email address as its owner wrote it, and as it is compared. */
export interface EmailAddress {
  /** Without the white space around it. */
  email: string;
  /** The address in lower case; no two accounts have the same. */
  key: string;
  /** The part before the @. */
  localPart: string;
}

/** The most characters (code points) of an address. */
export const maxEmailCharacters = 256;

/**
 * Reads an address: one @ between non-empty parts without spaces, control or invisible characters, and without angle brackets, which
 * a mail's recipient loses, so that it would be another address; for the same reason the domain is as mail servers read it. Undefined
 * for any other text. Whether the address receives mail is not checked.
 */
export function parseEmail(text: string): EmailAddress | undefined {
  const email = text.trim();
  const match = /^([^@]+)@([^@]+)$/u.exec(email);
  if (match === null || unfit.test(email) || !isReadAsWritten(match[2]!)) return undefined;
  return { email, key: emailKey(email), localPart: match[1]! };
}

/** Invisible characters include the bidirectional ones, which show an address as another. */
const unfit = /[\s<>\p{Cc}\p{Default_Ignorable_Code_Point}]/u;

/** Letters of full width, say, become plain ones on the way to the mail server (UTS 46). */
function isReadAsWritten(domain: string): boolean {
  return /^\p{ASCII}+$/u.test(domain) || domainToUnicode(domainToASCII(domain)) === domain.toLowerCase();
}

/** Reads an address that a caller gave, as {@link parseEmail} does, with a sentence for the caller. */
export function readEmail(text: string): Read<EmailAddress> {
  const value = parseEmail(text);
  if (value === undefined) return unreadable("email must be an address such as name@example.com");
  return { ok: true, value };
}

/** The form in which two addresses are the same account. */
export function emailKey(text: string): string {
  return text.trim().toLowerCase();
}
