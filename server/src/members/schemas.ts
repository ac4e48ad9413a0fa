import { Type } from "typebox";
import { RoleName } from "../accounts/schemas.ts";
import {
  Id,
  nullable,
  nullableString,
  NullableTimestamp,
  oneOf,
  Timestamp,
} from "../http/contract/schemas.ts";

/** A user of the organization, as answers to other users show it. */
export const Member = Type.Object(
  {
    id: Id,
    email: Type.String(),
    name: Type.String(),
    role: RoleName,
    created_at: Timestamp,
    last_login_at: nullable(Timestamp, "Of the sessions that have not ended; null when there is none"),
  },
  { title: "Member" },
);

const NullableId = nullable(Id);

const invitation = {
  id: Id,
  role: RoleName,
  email: nullableString("Only this address may accept it; null for any address"),
  created_by: nullable(Id, "The user who made it"),
  created_at: Timestamp,
  expires_at: Timestamp,
};

/** An invitation in lists. */
export const Invitation = Type.Object(
  {
    ...invitation,
    status: oneOf(["OPEN", "ACCEPTED", "REVOKED", "EXPIRED"]),
    accepted_at: NullableTimestamp,
    accepted_by: NullableId,
    revoked_at: NullableTimestamp,
  },
  { title: "Invitation" },
);

/** A new invitation, with its token, of which only the hash is stored. */
export const NewInvitation = Type.Object(
  {
    ...invitation,
    token: Type.String({ pattern: "^inv_[0-9a-f]{64}$", description: "Shown once" }),
    url: nullableString(
      "The page of the dashboard to accept it at, with the token behind the `#`, which browsers send nowhere; null without `POSTRIDER_PUBLIC_URL`",
    ),
  },
  { title: "NewInvitation" },
);
