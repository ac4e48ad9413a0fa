import { Type } from "typebox";
import { RoleName } from "../accounts/schemas.ts";
import { Id, nullable, nullableString, oneOf, Timestamp } from "../http/contract/schemas.ts";

/** A user of the organization, as answers to other users show it. */
export const Member = Type.Object(
  {
    id: Id,
    email: Type.String(),
    name: Type.String(),
    role: RoleName,
    created_at: Timestamp,
    last_login_at: nullable(
      Timestamp,
      "Time of the last login whose session has not ended; null if the member has no such session",
    ),
  },
  { title: "Member" },
);

const NullableId = nullable(Id);

const invitation = {
  id: Id,
  role: RoleName,
  email: nullableString("Only this address can accept the invitation; null if any address can"),
  created_by: nullable(Id, "The user who created the invitation"),
  created_at: Timestamp,
  expires_at: Timestamp,
};

/** An invitation in lists. */
export const Invitation = Type.Object(
  {
    ...invitation,
    status: oneOf(["OPEN", "ACCEPTED", "REVOKED", "EXPIRED"]),
    accepted_at: nullable(Timestamp),
    accepted_by: NullableId,
    revoked_at: nullable(Timestamp),
  },
  { title: "Invitation" },
);

/** A new invitation, with its token, of which only the hash is stored. */
export const NewInvitation = Type.Object(
  {
    ...invitation,
    token: Type.String({ pattern: "^inv_[0-9a-f]{64}$", description: "Shown once" }),
    url: nullableString(
      "The dashboard page on which to accept the invitation. The token is in the fragment, after the `#`, which browsers do not send to servers. null if `POSTRIDER_PUBLIC_URL` is not set",
    ),
  },
  { title: "NewInvitation" },
);
