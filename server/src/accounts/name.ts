import type { Read } from "../http/contract/errors.ts";
import { isPlainLine, lineOfText, plainTextRule } from "../http/contract/plainText.ts";

/** Name of an organization or an API key: 1 to 256 characters (code points), not counting space around it. */
export const Name = lineOfText({ minLength: 1, maxLength: 256 });

/** Reads a name without the white space around it; an empty one and one with control characters are refused. */
export function readName(text: string): Read<string> {
  const name = text.trim();
  if (name === "") return { ok: false, message: "name must not be empty" };
  if (!isPlainLine(name)) return { ok: false, message: `name ${plainTextRule}` };
  return { ok: true, value: name };
}
