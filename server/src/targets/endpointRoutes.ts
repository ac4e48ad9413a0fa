import { Type } from "typebox";
import { originOf } from "../audit/origin.ts";
import { removal } from "../http/contract/removal.ts";
import { isId } from "../postgres/ids.ts";
import { ApiError, notFound } from "../http/contract/errors.ts";
import { type RouteDefinition, route, type Routes } from "../http/contract/route.ts";
import { Id, IdParams } from "../http/contract/schemas.ts";
import { endpointAnswer } from "./answers.ts";
import { createWebhook, type TargetDeps } from "./createTarget.ts";
import { deleteTarget } from "./deleteTarget.ts";
import { enabling, enablingRefusals, Endpoint, PatchedEndpoint, targetInputs } from "./schemas.ts";
import { listTargets, readTarget, type StoredTarget, tooManyTargets } from "./store.ts";
import { updateTarget } from "./updateTarget.ts";

/** `/api/v1/endpoints`: webhook targets as older clients know them; other kinds do not exist here. */
export function endpointRoutes(deps: TargetDeps): Routes<"list" | "create" | "read" | "update" | "remove"> {
  const inputs = targetInputs(deps.config.maxBodyBytes);
  return {
    list: route(
      {
        summary: "List endpoints, oldest first",
        response: { 200: Type.Object({ endpoints: Type.Array(Endpoint) }) },
      },
      async ({ caller }) => {
        const targets = await listTargets(deps.queries, caller.orgId, { kind: "webhook" });
        return { endpoints: targets.map(endpointAnswer) };
      },
    ),
    create: route(
      {
        summary: "Create an endpoint; its signing secret is shown this once",
        body: inputs.newEndpoint,
        response: { 200: Type.Object({ id: Id, secret: Type.String() }) },
        errors: { 409: tooManyTargets },
      },
      async (call) => {
        const { target, secret } = await createWebhook(
          deps,
          originOf(call),
          knownOf(inputs.newEndpoint, call.body),
        );
        deps.changes.publishTarget(call.caller.orgId, target.id);
        return { id: target.id, secret };
      },
    ),
    read: route(
      {
        summary: "Read an endpoint",
        params: IdParams,
        response: { 200: Type.Object({ endpoint: Endpoint }) },
      },
      async ({ caller, params }) => ({
        endpoint: endpointAnswer(await findEndpoint(deps, caller.orgId, params.id)),
      }),
    ),
    update: route(
      {
        summary: "Change an endpoint",
        description: enabling,
        params: IdParams,
        body: inputs.endpointChanges,
        response: { 200: Type.Object({ endpoint: PatchedEndpoint }) },
        errors: enablingRefusals,
      },
      async (call) => {
        const present = await findEndpoint(deps, call.caller.orgId, call.params.id);
        const changes = knownOf(inputs.endpointChanges, call.body);
        if (Object.keys(changes).length === 0) {
          const fields = Object.keys(inputs.endpointChanges.properties).join(", ");
          throw new ApiError(400, `nothing to change: an endpoint takes ${fields}`);
        }
        const { target, heldItems } = await updateTarget(deps, originOf(call), present, changes);
        return { endpoint: { ...endpointAnswer(target), held_items: heldItems } };
      },
    ),
    remove: removeRoute(deps),
  };
}

/** What a body has of its schema's fields: fields that targets have and endpoints do not are unknown here, and unchecked. */
function knownOf<B extends object>({ properties }: { properties: object }, body: B): B {
  return Object.fromEntries(Object.entries(body).filter(([field]) => Object.hasOwn(properties, field))) as B;
}

function removeRoute(deps: TargetDeps): RouteDefinition {
  return removal(
    { summary: "Delete an endpoint; what is queued for it becomes CANCELED" },
    async (call, id) => {
      await findEndpoint(deps, call.caller.orgId, id);
      await deleteTarget(deps, originOf(call), id);
    },
  );
}

async function findEndpoint(deps: TargetDeps, orgId: string, id: string): Promise<StoredTarget> {
  if (!isId(id)) throw notFound();
  const target = await readTarget(deps.queries, orgId, id);
  if (target.kind !== "webhook") throw notFound();
  return target;
}
