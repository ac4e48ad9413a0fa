import { type Static, Type } from "typebox";
import { originOf } from "../audit/origin.ts";
import { usersAndKeys } from "../http/contract/access.ts";
import { removal, type RouteRecord, routesOf } from "../http/contract/route.ts";
import { ApiError, notFound } from "../http/contract/errors.ts";
import { noLimitedKey, readKeys } from "../http/contract/scope.ts";
import { fieldsOf, Id, Timestamp } from "../http/contract/schemas.ts";
import { createTarget } from "./createTarget.ts";
import { deleteTarget } from "./deleteTarget.ts";
import { findTarget, listInTurns, longLists } from "./findTarget.ts";
import type { KindDeps } from "./kinds.ts";
import { type StoredTarget, tooManyTargets } from "./record/store.ts";
import { orThrow } from "./refusals.ts";
import { enabling, enablingRefusals } from "./schemas.ts";
import { updateTarget } from "./updateTarget.ts";
import { webhook } from "./webhook/webhook.ts";
import {
  allOptional,
  commonFields,
  createdEnabled,
  deliveryFields,
  discardHeld,
  HeldItems,
  Name,
  Url,
} from "./record/fields.ts";
import { endpointFields } from "./webhook/schemas.ts";

/** A webhook target in the answers of the legacy routes. */
const Endpoint = Type.Object(
  {
    id: Id,
    name: Type.String(),
    url: Type.String(),
    description: Type.String(),
    event_types: Type.String({ description: "The array of event types as JSON text; `[]` means all types" }),
    max_payload_bytes: Type.Integer(),
    max_retries: Type.Integer(),
    retry_interval_seconds: Type.Integer(),
    enabled: Type.Boolean(),
    created_at: Timestamp,
    updated_at: Timestamp,
  },
  { title: "Endpoint" },
);

/** The answer to a PATCH of an endpoint: the fields that the legacy contract lists, and `held_items`. */
const PatchedEndpoint = Type.Object({
  ...Type.Pick(Endpoint, ["id", "name", "url", "description", "event_types", "enabled", "updated_at"])
    .properties,
  held_items: HeldItems,
});

/** The bodies that create and change endpoints. */
function endpointInputs(maxBodyBytes: number) {
  const { description, max_payload_bytes } = commonFields(maxBodyBytes);
  const { max_retries, retry_interval_seconds } = deliveryFields;
  const options = {
    description,
    event_types: endpointFields.event_types,
    max_payload_bytes,
    max_retries,
    retry_interval_seconds,
  };
  const changes = { name: Name, url: Url, enabled: Type.Boolean(), discard_held: discardHeld, ...options };
  return {
    newEndpoint: Type.Object(
      { name: Name, url: Url, ...allOptional({ ...options, enabled: createdEnabled }) },
      { title: "NewEndpoint" },
    ),
    endpointChanges: Type.Object(allOptional(changes), { title: "EndpointChanges" }),
  };
}

/** The answer of `/api/v1/endpoints` for a webhook target. Here `event_types` is JSON text. */
function endpointAnswer(target: StoredTarget): Static<typeof Endpoint> {
  return { ...fieldsOf(Endpoint, target), event_types: JSON.stringify(target.event_types) };
}

const route = routesOf<KindDeps>("Endpoints");

const listRoute = route("listEndpoints", "GET /api/v1/endpoints", {
  access: usersAndKeys("viewer", readKeys),
  summary: "List endpoints, oldest first",
  response: { 200: Type.Object({ endpoints: Type.Array(Endpoint) }) },
  errors: { 429: longLists },
  async handle(call, deps) {
    const answersTo = async (page: StoredTarget[]) => page.map(endpointAnswer);
    return { endpoints: await listInTurns(deps, call, { kind: webhook.name }, answersTo) };
  },
});

function createRoute(deps: KindDeps): RouteRecord {
  const { newEndpoint } = endpointInputs(deps.config.maxBodyBytes);
  return route("createEndpoint", "POST /api/v1/endpoints", {
    access: usersAndKeys("member", noLimitedKey),
    audit: "target.created",
    summary: "Create an endpoint; its signing secret is shown only in this answer",
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
      const input = { ...knownOf(newEndpoint, call.body), kind: webhook.name };
      const { target, secret } = orThrow(await createTarget(deps, originOf(call), input));
      deps.changes.publishTarget(call.caller.orgId, target.id);
      return { id: target.id, secret };
    },
  })(deps);
}

const readRoute = route("readEndpoint", "GET /api/v1/endpoints/:id", {
  access: usersAndKeys("viewer", readKeys),
  summary: "Read an endpoint",
  response: { 200: Type.Object({ endpoint: Endpoint }) },
  handle: async ({ caller, params }, deps) => ({
    endpoint: endpointAnswer(await findEndpoint(deps, caller.orgId, params.id)),
  }),
});

function updateRoute(deps: KindDeps): RouteRecord {
  const { endpointChanges } = endpointInputs(deps.config.maxBodyBytes);
  return route("updateEndpoint", "PATCH /api/v1/endpoints/:id", {
    access: usersAndKeys("member", noLimitedKey),
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
      const { target, heldItems } = orThrow(await updateTarget(deps, originOf(call), present, changes));
      return { endpoint: { ...endpointAnswer(target), held_items: heldItems } };
    },
  })(deps);
}

/** The body without fields that its schema does not list. Fields that only `/targets` has are ignored and not checked. */
function knownOf<B extends object>({ properties }: { properties: object }, body: B): B {
  return Object.fromEntries(Object.entries(body).filter(([field]) => Object.hasOwn(properties, field))) as B;
}

const removeRoute = route("deleteEndpoint", "DELETE /api/v1/endpoints/:id", {
  access: usersAndKeys("member", noLimitedKey),
  audit: "target.deleted",
  summary: "Delete an endpoint; its waiting items become CANCELED",
  ...removal(async (call, id, deps: KindDeps) => {
    await findEndpoint(deps, call.caller.orgId, id);
    orThrow(await deleteTarget(deps, originOf(call), id));
  }),
});

async function findEndpoint(deps: KindDeps, orgId: string, id: string): Promise<StoredTarget> {
  const target = await findTarget(deps, orgId, id);
  if (target.kind !== webhook.name) throw notFound();
  return target;
}

/** `/api/v1/endpoints`: webhook targets, in the form for older clients. Targets of other kinds are not found here. */
export const endpointRoutes = [listRoute, createRoute, readRoute, updateRoute, removeRoute];
