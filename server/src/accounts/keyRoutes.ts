import { Type } from "typebox";
import type { Config } from "../config/config.ts";
import { originOf } from "../audit/origin.ts";
import { users, usersAndKeys } from "../http/contract/access.ts";
import {
  ApiError,
  notFound,
  orInvalid,
  orRefused,
  unauthorized,
  organizationPending,
  organizationSuspended,
} from "../http/contract/errors.ts";
import { removal, routesOf, type RouteRecord } from "../http/contract/route.ts";
import { noLimitedKey, readKeys } from "../http/contract/scope.ts";
import { Id, nullable, Timestamp } from "../http/contract/schemas.ts";
import { createKey, deleteKey, listKeys } from "./keyStore.ts";
import { readScope, scopeAnswer, ScopeFields } from "./keyScope.ts";
import { Name, readName } from "./schemas.ts";
import examples from "./examples.json" with { type: "json" };
import type { Parts } from "../items/parts.ts";

const route = routesOf<KeyDeps>("API keys");

export interface KeyDeps extends Pick<Parts, "pool" | "nowMs"> {
  config: Pick<Config, "maxKeys">;
}

const listRoute = route("listKeys", "GET /api/v1/keys", {
  access: usersAndKeys("viewer", readKeys),
  summary: "List the API keys, oldest first",
  response: {
    200: Type.Object({
      keys: Type.Array(
        Type.Object(
          {
            id: Id,
            name: Type.String(),
            prefix: Type.String({ description: "The first 12 characters" }),
            created_at: Timestamp,
            last_used_at: nullable(Timestamp),
            ...ScopeFields,
          },
          { title: "ApiKey" },
        ),
      ),
    }),
  },
  handle: async ({ caller }, deps) => ({ keys: await listKeys(deps.pool, caller.orgId) }),
});

const deleteRoute = route("deleteKey", "DELETE /api/v1/keys/:id", {
  access: usersAndKeys("admin", noLimitedKey),
  audit: "key.deleted",
  summary: "Delete an API key",
  description:
    "The last key of the organization and the key that authenticates the request cannot be deleted: the status is 409.",
  errors: { 409: "The key is the last one, or authenticates the request" },
  ...removal(async (call, keyId, deps: KeyDeps) => {
    const callerKeyId = call.caller.kind === "apiKey" ? call.caller.keyId : undefined;
    orRefused(await deleteKey(deps.pool, originOf(call), { keyId, callerKeyId }), "deleted", {
      not_found: notFound,
      own_key: () =>
        new ApiError(409, "an API key cannot delete itself: use another key or a session", "own_key"),
      last_key: () =>
        new ApiError(409, "the last API key cannot be deleted: create another key first", "last_key"),
    });
  }),
});

function createRoute(deps: KeyDeps): RouteRecord {
  const { maxKeys } = deps.config;
  return route("createKey", "POST /api/v1/keys", {
    access: users("admin"),
    audit: "key.created",
    summary: "Create an API key",
    description: `Requires a session token, so that a leaked key cannot create other keys. An organization has at most ${maxKeys} keys. The status is 402 while the organization is suspended, and 403 while it is pending. \`scope\` limits what a key can do, and cannot be changed later.`,
    body: Type.Object({ name: Name, ...ScopeFields }),
    response: {
      200: Type.Object({
        id: Id,
        name: Type.String(),
        key: Type.String({ pattern: "^ak_live_[0-9a-f]{64}$", description: "Shown once" }),
        ...ScopeFields,
      }),
    },
    errors: {
      402: "The organization is suspended",
      403: "The organization is pending, or the request has an API key instead of a session token",
      409: `The organization already has ${maxKeys} keys`,
      503: "A process of an older version that does not know limited keys is running",
    },
    examples: examples.createKey,
    async handle(call) {
      const name = orInvalid(readName(call.body.name));
      const scope = orInvalid(readScope(call.body));
      const input = { name, maxKeys, nowMs: deps.nowMs(), scope };
      const { id, key } = orRefused(await createKey(deps.pool, originOf(call), input), "created", {
        not_admin: unauthorized,
        suspended: organizationSuspended,
        pending: organizationPending,
        too_many: () =>
          new ApiError(
            409,
            `the organization has ${maxKeys} API keys, which is the maximum: delete a key first`,
          ),
        invalid: ({ message }) => new ApiError(400, message),
      });
      return { id, name, key, ...scopeAnswer(scope) };
    },
  })(deps);
}

/** Creating, listing and deleting the organization's API keys. */
export const keyRoutes = [createRoute, listRoute, deleteRoute];
