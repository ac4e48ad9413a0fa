import { Type } from "typebox";
import { originOf } from "../audit/origin.ts";
import { usersAndKeys } from "../http/contract/access.ts";
import { removal, routesOf, type RouteRecord } from "../http/contract/route.ts";
import { customerChanges, customerReads, noLimitedKey } from "../http/contract/scope.ts";
import { targetAnswer, targetAnswers } from "./answers.ts";
import { createTarget } from "./createTarget.ts";
import { deleteTarget } from "./deleteTarget.ts";
import examples from "./examples.json" with { type: "json" };
import { findTarget, findTargetThat, listInTurns, longLists } from "./findTarget.ts";
import { type AnyKind, type KindDeps, kindNamed, kindNames } from "./kinds.ts";
import { asSeenBy, newWithinReach, refuseBeyondReach, withinReach } from "./ofCustomer.ts";
import { tooManyTargets } from "./record/store.ts";
import { orThrow, throwRefused, throwUnrefreshed } from "./refusals.ts";
import { Consent, enabling, enablingRefusals, Target, targetInputs, TargetQuery } from "./schemas.ts";
import { secretRoutes } from "./secretRoutes.ts";
import { updateTarget } from "./updateTarget.ts";

const route = routesOf<KindDeps>("Targets");

const catalogued =
  "If the organization has a catalogue of event types, new entries of event_types must match one of its types.";

const listRoute = route("listTargets", "GET /api/v1/targets", {
  access: usersAndKeys("viewer", customerReads("own")),
  summary: "List targets, oldest first",
  description: "Lists all targets, unless `limit` is given.",
  query: TargetQuery,
  response: { 200: Type.Object({ targets: Type.Array(Target) }) },
  errors: { 429: longLists },
  async handle(call, deps) {
    const { caller } = call;
    const { customer_uid: customerUid, ...query } = call.query;
    const asked = { ...query, customerUid: customerUid === "" ? null : customerUid };
    const filter = withinReach(caller.scope, asked);
    if (filter === undefined) return { targets: [] };
    const targets = await listInTurns(deps, call, filter, (page) =>
      targetAnswers(
        deps,
        page.map((target) => asSeenBy(caller.scope, target)),
      ),
    );
    return { targets };
  },
});

function createRoute(deps: KindDeps): RouteRecord {
  const { newTarget } = targetInputs(deps.config.maxBodyBytes);
  return route("createTarget", "POST /api/v1/targets", {
    access: usersAndKeys("member", customerChanges("own")),
    audit: "target.created",
    summary: `Create a ${kindNames()} target`,
    description: `The answer for a webhook target contains its signing secret; reading the target later does not show the secret. ${catalogued}`,
    body: newTarget,
    response: { 200: Target },
    errors: {
      409: `${tooManyTargets}; or the agent's interface has another origin than its card, and confirm_origin must name that origin before the credential is sent there`,
    },
    examples: examples.createTarget,
    async handle(call) {
      const { caller } = call;
      const { input } = orThrow(await newWithinReach(deps.queries, caller, call.body));
      const kind = kindNamed(input.kind);
      throwRefused(await kind.checkCatalogue?.(deps.queries, caller.orgId, input.event_types));
      const { target, secret } = orThrow(await createTarget(deps, originOf(call), input));
      deps.changes.publishTarget(caller.orgId, target.id);
      return targetAnswer(deps, asSeenBy(caller.scope, target), { secret });
    },
  })(deps);
}

const readRoute = route("readTarget", "GET /api/v1/targets/:id", {
  access: usersAndKeys("viewer", customerReads("target")),
  summary: "Read a target",
  response: { 200: Target },
  handle: async ({ caller, params }, deps) =>
    targetAnswer(deps, asSeenBy(caller.scope, await findTarget(deps, caller.orgId, params.id))),
});

function updateRoute(deps: KindDeps): RouteRecord {
  const { targetChanges } = targetInputs(deps.config.maxBodyBytes);
  return route("updateTarget", "PATCH /api/v1/targets/:id", {
    access: usersAndKeys("member", customerChanges("target")),
    audit: "target.updated",
    summary: "Change a target",
    description: `${enabling} ${catalogued}`,
    body: targetChanges,
    response: { 200: Target },
    errors: enablingRefusals,
    examples: {
      request: {
        "Stop deliveries": { enabled: false },
        "Send more slowly": { rate_limit_per_second: 5 },
        "Change one header and keep the other's value": {
          headers: { Authorization: "***", "X-Tenant": { value: "shop-8", secret: false } },
        },
      },
    },
    async handle(call) {
      const { caller, params, body } = call;
      const present = await findTarget(deps, caller.orgId, params.id);
      throwRefused(await refuseBeyondReach(deps.queries, caller, present, body));
      const { checkCatalogue } = kindNamed(present.kind);
      throwRefused(await checkCatalogue?.(deps.queries, caller.orgId, body.event_types, present));
      const { target, heldItems } = orThrow(await updateTarget(deps, originOf(call), present, body));
      return targetAnswer(deps, asSeenBy(caller.scope, target), { held_items: heldItems });
    },
  })(deps);
}

const removeRoute = route("deleteTarget", "DELETE /api/v1/targets/:id", {
  access: usersAndKeys("member", customerChanges("target")),
  audit: "target.deleted",
  summary: "Delete a target; its waiting items become CANCELED",
  ...removal(async (call, id, deps: KindDeps) => {
    const { caller } = call;
    if (caller.scope !== undefined) {
      const target = await findTarget(deps, caller.orgId, id);
      throwRefused(await refuseBeyondReach(deps.queries, caller, target));
    }
    orThrow(await deleteTarget(deps, originOf(call), id));
  }),
});

const refreshRoute = route("refreshTarget", "POST /api/v1/targets/:id/refresh", {
  access: usersAndKeys("member", noLimitedKey),
  audit: "target.card_replaced",
  summary: "Refresh the agent card of an a2a target",
  description:
    "The new card is checked completely before it replaces the last usable card. If the card moves the agent to an origin for which the credential was not given, the refresh is refused until a request with confirm_origin names this origin.",
  body: Consent,
  response: { 200: Target },
  errors: {
    409: "The card needs the owner's confirmation; the last usable card stays in use",
    502: "The card cannot be read or used; the last usable card stays in use",
  },
  async handle(call, deps) {
    const { caller, params, body } = call;
    const canRefresh = (kind: AnyKind): boolean => kind.refresh !== undefined;
    const { id, kind } = await findTargetThat(canRefresh, deps, caller.orgId, params.id);
    const outcome = await kindNamed(kind).refresh!(deps, id, {
      origin: originOf(call),
      confirmOrigin: body?.confirm_origin,
      confirmSignature: body?.confirm_signature,
    });
    throwUnrefreshed(outcome);
    deps.changes.publishTarget(caller.orgId, id);
    return targetAnswer(deps, await findTarget(deps, caller.orgId, id));
  },
});

/** `/api/v1/targets`: targets of all kinds. */
export const targetRoutes = [
  listRoute,
  createRoute,
  readRoute,
  updateRoute,
  removeRoute,
  refreshRoute,
  ...secretRoutes,
];
