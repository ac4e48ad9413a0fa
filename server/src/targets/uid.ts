import { Type } from "typebox";
import { noneNamed } from "../http/contract/errors.ts";

const uidPattern = "^[A-Za-z0-9._:-]{1,128}$";
/** What a uid is, for people. */
export const uidRule = "1 to 128 characters of A-Z a-z 0-9 . _ : -";
const uid = new RegExp(uidPattern);

/** A name that an organization gives to something of its own, in a body or a query. */
export const Uid = Type.String({
  pattern: uidPattern,
  description: uidRule,
  examples: ["customer-4711"],
});

/** A uid that a path can hold: clients resolve `.` and `..` before they send one, and would reach something else. */
export function isPathUid(text: string): boolean {
  return uid.test(text) && text !== "." && text !== "..";
}

/** A customer's uid in a path. @throws {ApiError} 404 for what no path can name. */
export function uidOfPath({ uid }: { uid: string }): string {
  if (!isPathUid(uid)) throw noneNamed("customer", uid);
  return uid;
}
