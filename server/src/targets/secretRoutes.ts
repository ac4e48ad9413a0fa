import { originOf } from "../audit/origin.ts";
import { users, usersAndKeys } from "../http/contract/access.ts";
import { removal, routesOf, type RouteRecord } from "../http/contract/route.ts";
import { customerChanges } from "../http/contract/scope.ts";
import { targetAnswer } from "./answers.ts";
import { findTargetThat } from "./findTarget.ts";
import type { AnyKind, KindDeps } from "./kinds.ts";
import { asSeenBy } from "./ofCustomer.ts";
import { orThrow } from "./refusals.ts";
import { Target } from "./schemas.ts";
import { RevealedSecrets, revealSecret } from "./webhook/revealSecret.ts";
import { deletePreviousSecret, rotateSecret } from "./webhook/rotateSecret.ts";
import { RotationBody } from "./webhook/schemas.ts";

const route = routesOf("Targets");

const isSigned = (kind: AnyKind): boolean => kind.isSigned;

/** The signing secrets of webhook targets. */
export function secretRoutes(deps: KindDeps): RouteRecord[] {
  return [rotateRoute(deps), revealRoute(deps), deletePreviousRoute(deps)];
}

function rotateRoute(deps: KindDeps): RouteRecord {
  return route("rotateSigningSecret", "POST /api/v1/targets/:id/signing-secret/rotate", {
    access: usersAndKeys("member", customerChanges("target")),
    audit: "target.secret_rotated",
    summary: "Give a webhook target a new signing secret",
    description:
      "Deliveries carry the signatures of both secrets until the previous one is deleted, or ends by itself when the rotation says so. Rotating again before that drops the oldest of the three.",
    body: RotationBody,
    response: { 200: Target },
    async handle(call) {
      const { id } = await findTargetThat(isSigned, deps, call.caller.orgId, call.params.id);
      const { target, secret } = orThrow(await rotateSecret(deps, originOf(call), id, call.body ?? {}));
      return targetAnswer(deps, asSeenBy(call.caller.scope, target), { secret });
    },
  });
}

function revealRoute(deps: KindDeps): RouteRecord {
  return route("revealSigningSecret", "POST /api/v1/targets/:id/signing-secret/reveal", {
    access: users("admin"),
    audit: "target.secret_revealed",
    summary: "Read the signing secret of a webhook target again",
    description:
      "Only where the organization's `secrets_can_be_revealed` is on, and with an admin's session. Each time is on record in the audit log as `target.secret_revealed`, committed before the answer leaves.",
    response: { 200: RevealedSecrets },
    answerHeaders: ["Cache-Control"],
    examples: { answer: { secret: "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw" } },
    async handle(call) {
      const { id } = await findTargetThat(isSigned, deps, call.caller.orgId, call.params.id);
      const { secrets } = orThrow(await revealSecret(deps, originOf(call), id));
      void call.reply.header("cache-control", "no-store");
      return secrets;
    },
  });
}

function deletePreviousRoute(deps: KindDeps): RouteRecord {
  return route("deletePreviousSigningSecret", "DELETE /api/v1/targets/:id/signing-secret/previous", {
    access: usersAndKeys("member", customerChanges("target")),
    audit: "target.previous_secret_deleted",
    summary: "Delete the previous signing secret, which ends a rotation",
    description: "Answers the same when no rotation is in progress, so that it is safe to repeat.",
    ...removal(async (call, id) => {
      const target = await findTargetThat(isSigned, deps, call.caller.orgId, id);
      orThrow(await deletePreviousSecret(deps, originOf(call), target));
    }),
  });
}
