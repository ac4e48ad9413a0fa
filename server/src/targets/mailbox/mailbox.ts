import { Type } from "typebox";
import type { Kind } from "../record/kind.ts";
import { nullable, nullableInteger } from "../../http/contract/schemas.ts";

const maxClaims = nullable(
  Type.Integer({ minimum: 1, maximum: 1000 }),
  "For mailboxes: how often a message may be claimed before it becomes dead; null means any number",
);

const fields = {
  created: { max_claims: maxClaims },
  changed: { max_claims: maxClaims },
  answered: {
    max_payload_bytes: Type.Integer(),
    max_claims: nullableInteger(
      "How often a message of the mailbox may be claimed before it becomes dead; null means any number",
    ),
  },
};

/** The kind `mailbox`: a queue whose messages consumers claim. */
export const mailbox: Kind<object, typeof fields.created, typeof fields.changed, typeof fields.answered> = {
  name: "mailbox",
  fields,
  create: async (_deps, { max_claims = null }) => ({ ok: true, columns: { url: null, max_claims } }),
  change: async (_deps, { max_claims }) => ({
    ok: true,
    columns: max_claims === undefined ? {} : { max_claims },
  }),
  answer: ({ max_payload_bytes, max_claims }) => ({ max_payload_bytes, max_claims }),
  sender: null,
  isSigned: false,
  isInPortal: false,
  testFault: "a mailbox has no receiver; send an item to the mailbox",
};
