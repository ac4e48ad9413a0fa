import { ApiError } from "../http/contract/errors.ts";
import { isPlainLine, lineOfText, plainTextRule } from "../http/contract/plainText.ts";

/** What an organization or an API key is called: 1 to 256 characters (code points), not counting space around it. */
export const Name = lineOfText({ minLength: 1, maxLength: 256 });

/** The name without the white space around it. @throws {ApiError} 400 when there is nothing else, or what no name may have. */
export function requireName(text: string): string {
  const name = text.trim();
  if (name === "") throw new ApiError(400, "name must not be empty");
  if (!isPlainLine(name)) throw new ApiError(400, `name ${plainTextRule}`);
  return name;
}
