import { type Static, Type } from "typebox";
import { Id } from "../http/contract/schemas.ts";
import { maxEmailCharacters } from "./emailAddress.ts";
import { type Read, unreadable } from "../http/contract/errors.ts";
import { isPlainLine, lineOfText, plainTextRule } from "../http/contract/plainText.ts";

/** The role of a user; `http/contract/access.ts` defines its permissions. */
export const RoleName = Type.Union([Type.Literal("viewer"), Type.Literal("member"), Type.Literal("admin")]);

/** A user, as answers to that user show it. */
export const User = Type.Object(
  {
    id: Id,
    email: Type.String(),
    name: Type.String(),
    org_id: Id,
    role: RoleName,
  },
  { title: "User" },
);
export type User = Static<typeof User>;

/** An email address in a request, not yet checked by `readEmail`. */
export const Email = Type.String({ maxLength: maxEmailCharacters, examples: ["ada@example.com"] });

/** Limits of a password's length, in characters (code points). */
export const Password = { minLength: 8, maxLength: 128 };

/** The answer for a taken address; it does not reveal whether there is an account. */
export const takenMessage =
  "If this address has no account yet, it can be used to sign up; otherwise log in.";

/** Descriptions of refusals, shared by the routes without a credential. */
export const tooMany = "Too many requests from this address";
export const overloaded = "Too many logins are in progress, or the database cannot be reached";

const maxNameCharacters = 256;

/** Name of an organization or an API key: 1 to 256 characters (code points), not counting space around it. */
export const Name = lineOfText({ minLength: 1, maxLength: maxNameCharacters });

/** Reads a name, without surrounding white space. Refuses empty and too long names, and those with control characters. */
export function readName(text: string): Read<string> {
  const name = text.trim();
  if (name === "") return unreadable("name must not be empty");
  if (Array.from(name).length > maxNameCharacters)
    return unreadable(`name must not have more than ${maxNameCharacters} characters`);
  if (!isPlainLine(name)) return unreadable(`name ${plainTextRule}`);
  return { ok: true, value: name };
}
