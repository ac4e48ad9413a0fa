import { Type } from "typebox";
import { originOf } from "../audit/origin.ts";
import { removal } from "../http/contract/removal.ts";
import { isId } from "../postgres/ids.ts";
import { ApiError, notFound } from "../http/contract/errors.ts";
import { route, type RouteRecord } from "../http/contract/route.ts";
import { readKeys, noLimitedKey } from "../http/contract/scope.ts";
import { Id } from "../http/contract/schemas.ts";
import { endpointAnswer } from "./answers.ts";
import { createWebhook, type TargetDeps } from "./createTarget.ts";
import { deleteTarget } from "./deleteTarget.ts";
import { enabling, enablingRefusals, Endpoint, PatchedEndpoint, targetInputs } from "./schemas.ts";
import { listTargets, readTarget, type StoredTarget, tooManyTargets } from "./store.ts";
import { updateTarget } from "./updateTarget.ts";

/** `/api/v1/endpoints`: webhook targets as older clients know them; other kinds do not exist here. */
export function endpointRoutes(deps: TargetDeps): RouteRecord[] {
  return [listRoute(deps), createRoute(deps), readRoute(deps), updateRoute(deps), removeRoute(deps)];
}

function listRoute(deps: TargetDeps): RouteRecord {
  return route({
    method: "GET",
    path: "/api/v1/endpoints",
    credential: "either",
    leastRole: "viewer",
    scope: readKeys,
    operationId: "listEndpoints",
    tag: "Endpoints",
    summary: "List endpoints, oldest first",
    response: { 200: Type.Object({ endpoints: Type.Array(Endpoint) }) },
    async handle({ caller }) {
      const targets = await listTargets(deps.queries, caller.orgId, { kind: "webhook" });
      return { endpoints: targets.map(endpointAnswer) };
    },
  });
}

function createRoute(deps: TargetDeps): RouteRecord {
  const { newEndpoint } = targetInputs(deps.config.maxBodyBytes);
  return route({
    method: "POST",
    path: "/api/v1/endpoints",
    credential: "either",
    leastRole: "member",
    scope: noLimitedKey,
    operationId: "createEndpoint",
    tag: "Endpoints",
    audit: "target.created",
    summary: "Create an endpoint; its signing secret is shown this once",
    body: newEndpoint,
    response: { 200: Type.Object({ id: Id, secret: Type.String() }) },
    errors: { 409: tooManyTargets },
    examples: {
      request: {
        "Some event types": {
          name: "Shop",
          url: "https://shop.example.com/hooks",
          event_types: ["order.created", "order.paid"],
        },
      },
    },
    async handle(call) {
      const { target, secret } = await createWebhook(deps, originOf(call), knownOf(newEndpoint, call.body));
      deps.changes.publishTarget(call.caller.orgId, target.id);
      return { id: target.id, secret };
    },
  });
}

function readRoute(deps: TargetDeps): RouteRecord {
  return route({
    method: "GET",
    path: "/api/v1/endpoints/:id",
    credential: "either",
    leastRole: "viewer",
    scope: readKeys,
    operationId: "readEndpoint",
    tag: "Endpoints",
    summary: "Read an endpoint",
    response: { 200: Type.Object({ endpoint: Endpoint }) },
    handle: async ({ caller, params }) => ({
      endpoint: endpointAnswer(await findEndpoint(deps, caller.orgId, params.id)),
    }),
  });
}

function updateRoute(deps: TargetDeps): RouteRecord {
  const { endpointChanges } = targetInputs(deps.config.maxBodyBytes);
  return route({
    method: "PATCH",
    path: "/api/v1/endpoints/:id",
    credential: "either",
    leastRole: "member",
    scope: noLimitedKey,
    operationId: "updateEndpoint",
    tag: "Endpoints",
    audit: "target.updated",
    summary: "Change an endpoint",
    description: enabling,
    body: endpointChanges,
    response: { 200: Type.Object({ endpoint: PatchedEndpoint }) },
    errors: enablingRefusals,
    examples: { request: { "All event types": { event_types: [] } } },
    async handle(call) {
      const present = await findEndpoint(deps, call.caller.orgId, call.params.id);
      const changes = knownOf(endpointChanges, call.body);
      if (Object.keys(changes).length === 0) {
        const fields = Object.keys(endpointChanges.properties).join(", ");
        throw new ApiError(400, `nothing to change: an endpoint takes ${fields}`);
      }
      const { target, heldItems } = await updateTarget(deps, originOf(call), present, changes);
      return { endpoint: { ...endpointAnswer(target), held_items: heldItems } };
    },
  });
}

/** What a body has of its schema's fields: fields that targets have and endpoints do not are unknown here, and unchecked. */
function knownOf<B extends object>({ properties }: { properties: object }, body: B): B {
  return Object.fromEntries(Object.entries(body).filter(([field]) => Object.hasOwn(properties, field))) as B;
}

function removeRoute(deps: TargetDeps): RouteRecord {
  return route({
    method: "DELETE",
    path: "/api/v1/endpoints/:id",
    credential: "either",
    leastRole: "member",
    scope: noLimitedKey,
    operationId: "deleteEndpoint",
    tag: "Endpoints",
    audit: "target.deleted",
    summary: "Delete an endpoint; what is queued for it becomes CANCELED",
    ...removal(async (call, id) => {
      await findEndpoint(deps, call.caller.orgId, id);
      await deleteTarget(deps, originOf(call), id);
    }),
  });
}

async function findEndpoint(deps: TargetDeps, orgId: string, id: string): Promise<StoredTarget> {
  if (!isId(id)) throw notFound();
  const target = await readTarget(deps.queries, orgId, id);
  if (target.kind !== "webhook") throw notFound();
  return target;
}
