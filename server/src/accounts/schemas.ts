import { Type } from "typebox";
import { Id } from "../http/contract/schemas.ts";
import { maxEmailCharacters } from "./emailAddress.ts";

/** The rights of a user, see `http/contract/roles.ts`. */
export const RoleName = Type.Union([Type.Literal("viewer"), Type.Literal("member"), Type.Literal("admin")]);

/** A user, as those see it who are that user. */
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

/** An address as somebody types it. */
export const Email = Type.String({ maxLength: maxEmailCharacters, examples: ["ada@example.com"] });

/** How long a password is, in characters (code points). */
export const Password = { minLength: 8, maxLength: 128 };

/** The answer where an address is taken: it says nothing about whether there is an account. */
export const takenMessage =
  "If this address has no account yet, it can be used to sign up; otherwise log in.";

/** Refusals that routes without a credential share, as the interface's document says them. */
export const tooMany = "Too many requests from this address";
export const overloaded = "Too many people are signing in at this moment, or the database cannot be reached";
