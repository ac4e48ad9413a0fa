import { type TStringOptions, Type } from "typebox";
import { linePattern, linesPattern, plainTextRule } from "./plainText.ts";

/** Forms of text in requests: the pattern that the schema checks, and the same in words, for a text that does not match. */
export const forms = {
  id: ["^[0-9a-f]{32}$", "32 lower-case hexadecimal characters"],
  uid: ["^[A-Za-z0-9._:-]{1,128}$", "1 to 128 characters of A-Z a-z 0-9 . _ : -"],
  uidOrEmpty: ["^[A-Za-z0-9._:-]{0,128}$", "at most 128 characters of A-Z a-z 0-9 . _ : -"],
  // The uid becomes a path segment: "." and ".." would name another path.
  pathUid: [
    "^(?!\\.\\.?$)[A-Za-z0-9._:-]{1,128}$",
    "1 to 128 characters of A-Z a-z 0-9 . _ : -, and not . or ..",
  ],
  correlationId: ["^[A-Za-z0-9_-]{1,128}$", "1 to 128 letters, digits, - and _"],
  eventType: ["^[ -~]{1,256}$", "1 to 256 printable ASCII characters"],
  // The name becomes a path segment, too.
  pathEventType: [
    "^(?!\\.\\.?$)[!-)+-~](?:[ -)+-~]{0,254}[!-)+-~])?$",
    "1 to 256 printable ASCII characters without *, not . or .., and without a space at its beginning or end",
  ],
  headerText: ["^[ -~]{1,255}$", "1 to 255 printable ASCII characters"],
  printable: ["^[ -~]*$", "printable ASCII characters"],
  printableWord: ["^[!-~]*$", "printable ASCII characters without spaces"],
  handoffState: [
    "^[A-Z][A-Z0-9_]{0,63}$",
    "1 to 64 capital letters, digits and _, beginning with a letter, such as WORKING",
  ],
  streamId: [
    "^[0-9]{1,15}-[0-9a-f]{8}$",
    "an id that the stream sent: digits, - and 8 lower-case hexadecimal characters",
  ],
  resetToken: [
    "^rst_[0-9a-f]{64}$",
    "the token of a reset link: rst_ and 64 lower-case hexadecimal characters",
  ],
  invitationToken: [
    "^inv_[0-9a-f]{64}$",
    "the token of an invitation: inv_ and 64 lower-case hexadecimal characters",
  ],
  portalCode: [
    "^plc_[0-9a-f]{64}$",
    "the code of a portal link: plc_ and 64 lower-case hexadecimal characters",
  ],
} as const;

type Form = keyof typeof forms;

/** A schema of texts of this form. */
export function textOf(form: Form, options: TStringOptions = {}) {
  return Type.String({ pattern: forms[form][0], ...options });
}

/** The rule for a text that does not match a schema's pattern, as words after the field's name, by the pattern. */
export const rules: ReadonlyMap<unknown, string> = new Map([
  ...Object.values(forms).map(([pattern, words]) => [pattern, `must be ${words}`] as const),
  [linePattern, plainTextRule],
  [linesPattern, plainTextRule],
]);
