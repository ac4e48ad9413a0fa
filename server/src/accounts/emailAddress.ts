import { ApiError } from "../http/contract/errors.ts";

/** An address as its owner wrote it, and as it is compared. */
export interface EmailAddress {
  /** Without the white space around it. */
  email: string;
  /** Lower-cased as well: one account has one of these. */
  key: string;
  /** What stands before the @. */
  localPart: string;
}

/** The most characters (code points) of an address. */
export const maxEmailCharacters = 256;

/**
 * Reads an address: one @ between non-empty parts without spaces or control characters. Undefined when it is not
 * of this shape; whether it receives mail is not known here.
 */
export function parseEmail(text: string): EmailAddress | undefined {
  const email = text.trim();
  const match = /^([^@\s\p{Cc}]+)@[^@\s\p{Cc}]+$/u.exec(email);
  return match ? { email, key: emailKey(email), localPart: match[1]! } : undefined;
}

/** The same. @throws {ApiError} 400 for a text of another shape. */
export function requireEmail(text: string): EmailAddress {
  const address = parseEmail(text);
  if (address === undefined) throw new ApiError(400, "email must be an address such as name@example.com");
  return address;
}

/** The form in which two addresses are the same account. */
export function emailKey(text: string): string {
  return text.trim().toLowerCase();
}
