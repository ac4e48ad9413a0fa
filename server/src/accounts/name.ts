import { Type } from "typebox";
import { ApiError } from "../http/contract/errors.ts";

/** What an organization or an API key is called: 1 to 256 characters (code points), not counting space around it. */
export const Name = Type.String({ minLength: 1, maxLength: 256 });

/** The name without the white space around it. @throws {ApiError} 400 when there is nothing else. */
export function requireName(text: string): string {
  const name = text.trim();
  if (name === "") throw new ApiError(400, "name must not be empty");
  return name;
}
