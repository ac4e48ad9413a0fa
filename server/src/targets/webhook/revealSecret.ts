import { type Static, Type } from "typebox";
import type { Origin } from "../../audit/origin.ts";
import { recordChange } from "../../audit/recordChange.ts";
import { openSigningSecret } from "../../items/signingSecret.ts";
import { inTransactionOf, type Queries } from "../../postgres/tables.ts";
import type { TargetDeps } from "../record/deps.ts";
import { gone, type Refused } from "../record/refusal.ts";

/** The signing secrets that deliveries are signed with at this moment. */
export const RevealedSecrets = Type.Object(
  {
    secret: Type.String(),
    previous_secret: Type.Optional(Type.String({ description: "While a rotation is in progress" })),
  },
  { title: "RevealedSecrets" },
);

/**
 * Opens the signing secrets of a webhook target, and puts on record who saw them. Nothing is answered before the record is
 * committed; an answer that is lost on the way is on record all the same.
 */
export async function revealSecret(
  deps: Pick<TargetDeps, "queries" | "box">,
  origin: Origin,
  id: string,
): Promise<{ ok: true; secrets: Static<typeof RevealedSecrets> } | Refused> {
  return inTransactionOf(deps.queries, async (transaction) => {
    const organization = await transaction
      .selectFrom("organizations")
      .select("secrets_can_be_revealed")
      .where("id", "=", origin.orgId)
      .executeTakeFirst();
    if (organization?.secrets_can_be_revealed !== true) {
      return { ok: false, refusal: { kind: "revealing_is_off" } };
    }
    const target = await readSealedSecrets(transaction, origin.orgId, id);
    if (target === undefined || target.secret === null) return gone;
    const secret = openSigningSecret(deps.box, id, target.secret);
    const previous =
      target.previous_secret === null ? undefined : openSigningSecret(deps.box, id, target.previous_secret);
    await recordChange(transaction, origin, {
      action: "target.secret_revealed",
      object: { kind: "target", id, name: target.name },
    });
    return { ok: true, secrets: { secret, ...(previous !== undefined && { previous_secret: previous }) } };
  });
}

/** Undefined when the organization has no such target; without a secret when its kind has none. */
function readSealedSecrets(transaction: Queries, orgId: string, id: string) {
  return transaction
    .selectFrom("targets")
    .select(["name", "secret", "previous_secret"])
    .where("id", "=", id)
    .where("org_id", "=", orgId)
    .executeTakeFirst();
}
