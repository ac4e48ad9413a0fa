import { domainToASCII, domainToUnicode } from "node:url";
import { type Read, unreadable } from "../http/contract/errors.ts";

/** An email address as its owner wrote it, and the form in which it is compared. */
export interface EmailAddress {
  /** As written, without surrounding white space. */
  email: string;
  /** The address in lower case; no two accounts have the same. */
  key: string;
  /** The part before the @. */
  localPart: string;
}

/** Maximum length of an address, in characters (code points). */
export const maxEmailCharacters = 256;

/**
 * Reads an address: one @ between non-empty parts that contain no spaces, angle brackets, control or invisible characters. A
 * mail's recipient loses angle brackets and would be another address; for the same reason the domain must already be in the form
 * that mail servers use. Does not check whether the address receives mail.
 */
export function readEmail(text: string): Read<EmailAddress> {
  const email = text.trim();
  const match = /^([^@]+)@([^@]+)$/u.exec(email);
  if (match === null || unfit.test(email) || !isReadAsWritten(match[2]!)) {
    return unreadable("email must be an address such as name@example.com");
  }
  return { ok: true, value: { email, key: emailKey(email), localPart: match[1]! } };
}

/** Includes bidirectional control characters, which can make an address look like another. */
const unfit = /[\s<>\p{Cc}\p{Default_Ignorable_Code_Point}]/u;

/** Whether mail servers read the domain as written. Full-width letters, for example, would become plain letters (UTS 46). */
function isReadAsWritten(domain: string): boolean {
  return /^\p{ASCII}+$/u.test(domain) || domainToUnicode(domainToASCII(domain)) === domain.toLowerCase();
}

/** The form in which addresses are compared: no two accounts have the same. */
export function emailKey(text: string): string {
  return text.trim().toLowerCase();
}
