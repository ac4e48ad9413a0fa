import { type Static, Type } from "typebox";
import { originOf } from "../audit/origin.ts";
import { removal } from "../http/contract/removal.ts";
import type { Caller } from "../http/contract/credentials.ts";
import { route, type RouteRecord } from "../http/contract/route.ts";
import { customerReads, customerChanges, noLimitedKey } from "../http/contract/scope.ts";
import { examples } from "./examples.ts";
import { type Beside, targetAnswer } from "./answers.ts";
import { createTarget, type TargetDeps } from "./createTarget.ts";
import { deleteTarget } from "./deleteTarget.ts";
import { checkCatalogued } from "./eventTypes.ts";
import { handoffTargets } from "./handoffTargets.ts";
import { findTarget, findTargetOfKind } from "./findTarget.ts";
import { asSeenBy, newWithinReach, refuseBeyondReach, withinReach } from "./ofCustomer.ts";
import { secretRoutes } from "./secretRoutes.ts";
import { Consent, enabling, enablingRefusals, Target, targetInputs, TargetQuery } from "./schemas.ts";
import { listTargets, readTarget, type StoredTarget, tooManyTargets } from "./store.ts";
import { updateTarget } from "./updateTarget.ts";

const catalogued =
  "Where there is a catalogue of event types, what a target newly names in event_types has to be in it.";

/** `/api/v1/targets`: where items go, whatever the kind. */
export function targetRoutes(deps: TargetDeps): RouteRecord[] {
  return [
    listRoute(deps),
    createRoute(deps),
    readRoute(deps),
    updateRoute(deps),
    removeRoute(deps),
    refreshRoute(deps),
    ...secretRoutes(deps),
  ];
}

function listRoute(deps: TargetDeps): RouteRecord {
  return route({
    method: "GET",
    path: "/api/v1/targets",
    credential: "either",
    leastRole: "viewer",
    scope: customerReads("own"),
    operationId: "listTargets",
    tag: "Targets",
    summary: "List targets, oldest first",
    description: "All of them, unless `limit` asks for a page.",
    query: TargetQuery,
    response: { 200: Type.Object({ targets: Type.Array(Target) }) },
    async handle({ caller, query: { customer_uid: customerUid, ...query } }) {
      const asked = { ...query, customerUid: customerUid === "" ? null : customerUid };
      const filter = withinReach(caller.scope, asked);
      const targets = filter === undefined ? [] : await listTargets(deps.queries, caller.orgId, filter);
      return { targets: await withAgents(deps, seenBy(caller, targets)) };
    },
  });
}

function createRoute(deps: TargetDeps): RouteRecord {
  const { newTarget } = targetInputs(deps.config.maxBodyBytes);
  return route({
    method: "POST",
    path: "/api/v1/targets",
    credential: "either",
    leastRole: "member",
    scope: customerChanges("own"),
    operationId: "createTarget",
    tag: "Targets",
    audit: "target.created",
    summary: "Create a webhook, mailbox or a2a target",
    description: `The answer of a webhook target holds its signing secret, this once. ${catalogued}`,
    body: newTarget,
    response: { 200: Target },
    errors: {
      409: `${tooManyTargets}; or a bearer token would go to another origin than its agent card's, which needs confirm_origin`,
    },
    examples: examples.createTarget,
    async handle(call) {
      const { caller } = call;
      const body = await newWithinReach(deps.queries, caller, call.body);
      const { target, secret } = await createTarget(deps, originOf(call), body);
      deps.changes.publishTarget(caller.orgId, target.id);
      return withAgent(deps, asSeenBy(caller.scope, target), { secret });
    },
  });
}

function readRoute(deps: TargetDeps): RouteRecord {
  return route({
    method: "GET",
    path: "/api/v1/targets/:id",
    credential: "either",
    leastRole: "viewer",
    scope: customerReads("target"),
    operationId: "readTarget",
    tag: "Targets",
    summary: "Read a target",
    response: { 200: Target },
    handle: async ({ caller, params }) =>
      withAgent(deps, asSeenBy(caller.scope, await findTarget(deps, caller.orgId, params.id))),
  });
}

function updateRoute(deps: TargetDeps): RouteRecord {
  const { targetChanges } = targetInputs(deps.config.maxBodyBytes);
  return route({
    method: "PATCH",
    path: "/api/v1/targets/:id",
    credential: "either",
    leastRole: "member",
    scope: customerChanges("target"),
    operationId: "updateTarget",
    tag: "Targets",
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
      await refuseBeyondReach(deps.queries, caller, present, body);
      await checkCatalogued(deps.queries, caller.orgId, body.event_types, present);
      const { target, heldItems } = await updateTarget(deps, originOf(call), present, body);
      return withAgent(deps, asSeenBy(caller.scope, target), { heldItems });
    },
  });
}

function removeRoute(deps: TargetDeps): RouteRecord {
  return route({
    method: "DELETE",
    path: "/api/v1/targets/:id",
    credential: "either",
    leastRole: "member",
    scope: customerChanges("target"),
    operationId: "deleteTarget",
    tag: "Targets",
    audit: "target.deleted",
    summary: "Delete a target; what is queued for it becomes CANCELED",
    ...removal(async (call, id) => {
      const { caller } = call;
      if (caller.scope !== undefined) {
        await refuseBeyondReach(deps.queries, caller, await findTarget(deps, caller.orgId, id));
      }
      await deleteTarget(deps, originOf(call), id);
    }),
  });
}

function refreshRoute(deps: TargetDeps): RouteRecord {
  return route({
    method: "POST",
    path: "/api/v1/targets/:id/refresh",
    credential: "either",
    leastRole: "member",
    scope: noLimitedKey,
    operationId: "refreshTarget",
    tag: "Targets",
    audit: "target.card_replaced",
    summary: "Read the agent card of an a2a target again",
    description:
      "The card is judged wholly before it takes the place of the last good one. A card that moves the agent to an origin that the bearer token was not given for waits for confirm_origin.",
    body: Consent,
    response: { 200: Target },
    errors: {
      409: "The card needs the owner's consent; the last good one stays in use",
      502: "The card cannot be read or used; the last good one stays in use",
    },
    async handle(call) {
      const { caller, params, body } = call;
      const { id } = await findTargetOfKind(deps, caller.orgId, params.id, "a2a");
      await handoffTargets(deps).refresh(id, {
        origin: originOf(call),
        confirmOrigin: body?.confirm_origin,
        confirmSignature: body?.confirm_signature,
      });
      deps.changes.publishTarget(caller.orgId, id);
      return withAgent(deps, await readTarget(deps.queries, caller.orgId, id));
    },
  });
}

function seenBy({ scope }: Caller, targets: readonly StoredTarget[]): StoredTarget[] {
  return targets.map((target) => asSeenBy(scope, target));
}

/** Targets as they are answered; one query more when there are agents among them. */
async function withAgents(
  deps: TargetDeps,
  targets: readonly StoredTarget[],
): Promise<Static<typeof Target>[]> {
  const ids = targets.filter(({ kind }) => kind === "a2a").map(({ id }) => id);
  const agents = ids.length === 0 ? undefined : await handoffTargets(deps).describe(ids);
  return targets.map((target) => targetAnswer(target, { agent: agents?.get(target.id) }));
}

async function withAgent(
  deps: TargetDeps,
  target: StoredTarget,
  beside: Omit<Beside, "agent"> = {},
): Promise<Static<typeof Target>> {
  if (target.kind !== "a2a") return targetAnswer(target, beside);
  const agents = await handoffTargets(deps).describe([target.id]);
  return targetAnswer(target, { ...beside, agent: agents.get(target.id) });
}
