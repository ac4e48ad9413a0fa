import { Type } from "typebox";
import { Id } from "../http/contract/schemas.ts";

/** What a user may do, see `http/contract/roles.ts`. */
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

/** How long a password is, in characters (code points). */
export const Password = { minLength: 8, maxLength: 128 };

/** What the owner of a taken address gets, too: it says nothing about whether there is an account. */
export const takenMessage =
  "If this address has no account yet, it can be used to sign up; otherwise log in.";
