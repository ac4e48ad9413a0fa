import { type Static, Type } from "typebox";
import { lineOfText } from "../http/contract/plainText.ts";
import { Id, pageByName, Timestamp } from "../http/contract/schemas.ts";
import { MetadataField, Uid } from "../targets/record/names.ts";

export const Customer = Type.Object(
  {
    uid: Type.Unsafe<string>({ ...Uid, description: "Your own id of the customer" }),
    id: Type.Unsafe<string>({ ...Id, description: "The service's id, by which the audit log names it" }),
    name: Type.String(),
    metadata: MetadataField,
    created_at: Timestamp,
    updated_at: Timestamp,
  },
  { title: "Customer" },
);

export const CustomerInput = Type.Object(
  {
    name: Type.Optional(
      Type.Unsafe<string>({ ...lineOfText({ maxLength: 256 }), description: "Empty unless given" }),
    ),
    metadata: Type.Optional(MetadataField),
  },
  { title: "CustomerInput" },
);

export type CustomerInput = Static<typeof CustomerInput>;

export const CustomerQuery = Type.Object(pageByName(Uid, ["uid", "customer"]));

export const DeletedCustomer = Type.Object(
  { deleted: Type.Literal(true), deleted_targets: Type.Integer() },
  { title: "DeletedCustomer" },
);
