import { Type } from "typebox";
import { originOf } from "../audit/origin.ts";
import { usersAndKeys } from "../http/contract/access.ts";
import { ApiError, foundNamed, noneNamed, orInvalid } from "../http/contract/errors.ts";
import { routesOf } from "../http/contract/route.ts";
import { customerReads, noLimitedKey } from "../http/contract/scope.ts";
import { checkEventType, isTypeName } from "./checkEventType.ts";
import { parseYaml } from "./parseYaml.ts";
import { readWebhooks } from "./readWebhooks.ts";
import {
  deleteEventType,
  listEventTypes,
  readEventType,
  saveEventTypes,
  type Saving,
  tooManyEventTypes,
} from "./store.ts";
import {
  DeletedEventType,
  EventType,
  EventTypeInput,
  EventTypeQuery,
  ImportedEventTypes,
  ImportQuery,
  ListedEventType,
  OpenApiDocument,
} from "./schemas.ts";
import examples from "./examples.json" with { type: "json" };
import type { Parts } from "../items/parts.ts";
import { isJsonObject } from "../http/contract/json.ts";

const route = routesOf<EventTypeDeps>("Event types");

type EventTypeDeps = Pick<Parts, "pool" | "reads" | "nowMs">;

const listRoute = route("listEventTypes", "GET /api/v1/event-types", {
  access: usersAndKeys("viewer", customerReads("own")),
  summary: "List event types",
  description: "Sorted by name, without schemas and examples.",
  query: EventTypeQuery,
  response: { 200: Type.Object({ event_types: Type.Array(ListedEventType) }) },
  examples: examples.listEventTypes,
  handle: async ({ caller, query }, deps) => ({
    event_types: await listEventTypes(deps.pool, caller.orgId, query),
  }),
});

const readRoute = route("readEventType", "GET /api/v1/event-types/:name", {
  access: usersAndKeys("viewer", customerReads("shared")),
  summary: "Read an event type",
  response: { 200: EventType },
  examples: examples.readEventType,
  async handle({ caller, params }, deps) {
    const name = nameOfPath(params);
    return foundNamed(await readEventType(deps.pool, caller.orgId, name), "event type", name);
  },
});

const deleteRoute = route("deleteEventType", "DELETE /api/v1/event-types/:name", {
  access: usersAndKeys("member", noLimitedKey),
  audit: "event_type.deleted",
  summary: "Delete an event type",
  description:
    "Targets that list the event type in `event_types` keep it there and still receive items of this type. While the catalogue has other event types, no target can add the deleted one to `event_types`.",
  response: { 200: DeletedEventType },
  examples: { answer: { deleted: true, naming_targets: 2 } },
  async handle(call, deps) {
    const name = nameOfPath(call.params);
    const count = foundNamed(await deleteEventType(deps.pool, originOf(call), name), "event type", name);
    return { deleted: true, naming_targets: count };
  },
});

const putRoute = route("putEventType", "PUT /api/v1/event-types/:name", {
  access: usersAndKeys("member", noLimitedKey),
  audit: ["event_type.created", "event_type.updated"],
  summary: "Create or replace an event type",
  description:
    "The same request creates or replaces the event type, so it can be repeated. Omitted fields become empty. Once the catalogue has an event type, targets can add only types of the catalogue to `event_types`; types that targets already list stay.",
  body: EventTypeInput,
  response: { 200: EventType },
  errors: { 409: tooManyEventTypes },
  examples: examples.putEventType,
  async handle(call, deps) {
    const { name } = call.params;
    const { description = "", group = "", deprecated = false, schema = null, example = null } = call.body;
    const types = [orInvalid(checkEventType({ name, description, group, deprecated, schema, example }))];
    const saved = await saveEventTypes(deps.pool, originOf(call), types, { nowMs: deps.nowMs() });
    if (saved.get(name) === "full") throw new ApiError(409, tooManyEventTypes);
    return foundNamed(await readEventType(deps.pool, call.caller.orgId, name), "event type", name);
  },
});

const importRoute = route("importEventTypes", "POST /api/v1/event-types/import", {
  access: usersAndKeys("member", noLimitedKey),
  audit: ["event_type.created", "event_type.updated"],
  summary: "Import event types from an OpenAPI document",
  description:
    "Each webhook of the document creates or replaces one event type. The key of the webhook becomes the name, its first tag the group, and the schema and the example of its JSON request body become the schema and the example, with everything that they refer to in the document. Webhooks that cannot become an event type are listed in `refused`; the other webhooks are imported. Event types that are not in the document stay.",
  query: ImportQuery,
  body: OpenApiDocument,
  response: { 200: ImportedEventTypes },
  errors: { 429: "The organization has too many imports in progress" },
  examples: examples.importEventTypes,
  async handle(call, deps) {
    const isDryRun = call.query.dry_run === "true";
    const { saved, refused } = await deps.reads.run("imports", call, async () => {
      const { types, refused } = orInvalid(await readWebhooks(await documentOf(call.body)));
      const options = { nowMs: deps.nowMs(), isDryRun };
      const savings = await saveEventTypes(deps.pool, originOf(call), types, options);
      return { saved: [...savings], refused };
    });
    const named = (saving: Saving): string[] =>
      saved.filter(([, one]) => one === saving).map(([name]) => name);
    const full = named("full").map((name) => ({ name, reason: tooManyEventTypes }));
    return {
      dry_run: isDryRun,
      created: named("created"),
      updated: named("updated"),
      unchanged: named("unchanged"),
      refused: [...refused, ...full],
    };
  },
});

/** The document of a body. @throws {ApiError} 400 for a text that is no YAML, or whose value is no object. */
async function documentOf(body: Record<string, unknown> | string): Promise<Record<string, unknown>> {
  if (typeof body !== "string") return body;
  const document = orInvalid(await parseYaml(body));
  if (isJsonObject(document)) return document;
  throw new ApiError(400, "the document must be an object");
}

/** The name in the path. @throws {ApiError} 404 when no event type can have it. */
function nameOfPath({ name }: { name: string }): string {
  if (!isTypeName(name)) throw noneNamed("event type", name);
  return name;
}

/** `/api/v1/event-types`: an organization's catalogue of event types. */
export const eventTypeRoutes = [listRoute, importRoute, putRoute, readRoute, deleteRoute];
