import { type Static, Type } from "typebox";
import type { Origin } from "../audit/origin.ts";
import { recordChange } from "../audit/recordChange.ts";
import { ApiError } from "../http/contract/errors.ts";
import { openSigningSecret } from "../items/signingSecret.ts";
import { inTransactionOf } from "../postgres/tables.ts";
import type { TargetDeps } from "./createTarget.ts";
import { readSealedSecrets } from "./store.ts";

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
 * @throws {ApiError} 403 where the organization has not switched revealing on, 404 when the target is gone.
 */
export async function revealSecret(
  deps: Pick<TargetDeps, "queries" | "box">,
  origin: Origin,
  id: string,
): Promise<Static<typeof RevealedSecrets>> {
  return inTransactionOf(deps.queries, async (transaction) => {
    const organization = await transaction
      .selectFrom("organizations")
      .select("secrets_can_be_revealed")
      .where("id", "=", origin.orgId)
      .executeTakeFirst();
    if (organization?.secrets_can_be_revealed !== true) throw revealingIsOff();
    const target = await readSealedSecrets(transaction, { orgId: origin.orgId, id });
    const open = (sealed: Buffer): string => openSigningSecret(deps.box, id, sealed);
    const secret = open(target.secret);
    const previous = target.previous_secret === null ? undefined : open(target.previous_secret);
    await recordChange(transaction, origin, {
      action: "target.secret_revealed",
      object: { kind: "target", id, name: target.name },
    });
    return { secret, ...(previous !== undefined && { previous_secret: previous }) };
  });
}

function revealingIsOff(): ApiError {
  return new ApiError(
    403,
    "signing secrets cannot be revealed: an admin switches that on with secrets_can_be_revealed of PATCH /api/v1/orgs",
    { code: "revealing_is_off" },
  );
}
