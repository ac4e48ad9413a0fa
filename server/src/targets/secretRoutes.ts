import { type Origin, originOf } from "../audit/origin.ts";
import { users, usersAndKeys } from "../http/contract/access.ts";
import { removal, routesOf } from "../http/contract/route.ts";
import { customerChanges } from "../http/contract/scope.ts";
import { targetAnswer } from "./answers.ts";
import { findTargetThat } from "./findTarget.ts";
import type { AnyKind, KindDeps } from "./kinds.ts";
import { asSeenBy } from "./ofCustomer.ts";
import { orThrow } from "./refusals.ts";
import { Target } from "./schemas.ts";
import { deletePreviousSecret, rotateSecret } from "./webhook/rotateSecret.ts";
import { RotationBody } from "./webhook/schemas.ts";
import { type Static, Type } from "typebox";
import { recordChange } from "../audit/recordChange.ts";
import { openSigningSecret } from "../items/secretBox.ts";
import { inTransactionOf } from "../postgres/tables.ts";
import type { TargetDeps } from "./record/kind.ts";
import { gone, type Refused } from "./record/refusal.ts";

const route = routesOf<KindDeps>("Targets");

const isSigned = (kind: AnyKind): boolean => kind.isSigned;

/** The signing secrets with which deliveries are signed now. */
const RevealedSecrets = Type.Object(
  {
    secret: Type.String(),
    previous_secret: Type.Optional(Type.String({ description: "Set while a rotation is in progress" })),
  },
  { title: "RevealedSecrets" },
);

const rotateRoute = route("rotateSigningSecret", "POST /api/v1/targets/:id/signing-secret/rotate", {
  access: usersAndKeys("member", customerChanges("target")),
  audit: "target.secret_rotated",
  summary: "Rotate the signing secret of a webhook target",
  description:
    "Deliveries carry the signatures of both secrets until the previous secret is deleted or reaches the end that the rotation set for it. A second rotation before that ends the older previous secret. With a `secret` of your own the call is safe to repeat: if that secret is already the current secret, only the end of the previous secret changes, if the request names one.",
  body: RotationBody,
  response: { 200: Target },
  async handle(call, deps) {
    const { id } = await findTargetThat(isSigned, deps, call.caller.orgId, call.params.id);
    const { target, secret } = orThrow(await rotateSecret(deps, originOf(call), id, call.body ?? {}));
    return targetAnswer(deps, asSeenBy(call.caller.scope, target), { secret });
  },
});

const revealRoute = route("revealSigningSecret", "POST /api/v1/targets/:id/signing-secret/reveal", {
  access: users("admin"),
  audit: "target.secret_revealed",
  summary: "Reveal the signing secret of a webhook target",
  description:
    "Needs an admin's session, and the organization's `secrets_can_be_revealed`. The audit log records each reveal as `target.secret_revealed`, committed before the answer is sent.",
  response: { 200: RevealedSecrets },
  answerHeaders: ["Cache-Control"],
  examples: { answer: { secret: "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw" } },
  async handle(call, deps) {
    const { id } = await findTargetThat(isSigned, deps, call.caller.orgId, call.params.id);
    const { secrets } = orThrow(await revealSecret(deps, originOf(call), id));
    return secrets;
  },
});

const deletePreviousRoute = route(
  "deletePreviousSigningSecret",
  "DELETE /api/v1/targets/:id/signing-secret/previous",
  {
    access: usersAndKeys("member", customerChanges("target")),
    audit: "target.previous_secret_deleted",
    summary: "Delete the previous signing secret, which ends a rotation",
    description: "Safe to repeat: gives the same answer when no rotation is in progress.",
    ...removal(async (call, id, deps: KindDeps) => {
      const target = await findTargetThat(isSigned, deps, call.caller.orgId, id);
      orThrow(await deletePreviousSecret(deps, originOf(call), target));
    }),
  },
);

/**
 * Decrypts the signing secrets of a webhook target, and records in the audit log who saw them. The answer is sent after the
 * audit entry is committed; the entry also exists if the answer is lost on the way.
 */
async function revealSecret(
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
    const target = await transaction
      .selectFrom("targets")
      .select(["name", "secret", "previous_secret"])
      .where("id", "=", id)
      .where("org_id", "=", origin.orgId)
      .executeTakeFirst();
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

/** The signing secrets of webhook targets. */
export const secretRoutes = [rotateRoute, revealRoute, deletePreviousRoute];
