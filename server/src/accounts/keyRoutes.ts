import { Type } from "typebox";
import type pg from "pg";
import type { Config } from "../config/config.ts";
import { originOf } from "../audit/origin.ts";
import { removal } from "../http/contract/removal.ts";
import { route, type RouteRecord } from "../http/contract/route.ts";
import { noLimitedKey, readKeys } from "../http/contract/scope.ts";
import { Id, NullableTimestamp, Timestamp } from "../http/contract/schemas.ts";
import { createKey, deleteKey, listKeys } from "./keyStore.ts";
import { readScope, scopeAnswer, ScopeFields } from "./keyScope.ts";
import { Name, requireName } from "./name.ts";

export interface KeyDeps {
  pool: pg.Pool;
  nowMs: () => number;
  config: Pick<Config, "maxKeys">;
}

/** Creating, listing and deleting the organization's API keys. */
export function keyRoutes(deps: KeyDeps): RouteRecord[] {
  return [createRoute(deps), listRoute(deps), deleteRoute(deps)];
}

function listRoute(deps: KeyDeps): RouteRecord {
  return route({
    method: "GET",
    path: "/api/v1/keys",
    credential: "either",
    leastRole: "viewer",
    scope: readKeys,
    operationId: "listKeys",
    tag: "API keys",
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
              last_used_at: NullableTimestamp,
              ...ScopeFields,
            },
            { title: "ApiKey" },
          ),
        ),
      }),
    },
    handle: async ({ caller }) => ({ keys: await listKeys(deps.pool, caller.orgId) }),
  });
}

function deleteRoute(deps: KeyDeps): RouteRecord {
  return route({
    method: "DELETE",
    path: "/api/v1/keys/:id",
    credential: "either",
    leastRole: "admin",
    scope: noLimitedKey,
    operationId: "deleteKey",
    tag: "API keys",
    audit: "key.deleted",
    summary: "Delete an API key",
    description: "409 for the last key, and for the key that authenticates the request.",
    errors: { 409: "It is the last key, or the one that authenticates the request" },
    ...removal((call, keyId) =>
      deleteKey(deps.pool, originOf(call), {
        keyId,
        callerKeyId: call.caller.kind === "apiKey" ? call.caller.keyId : undefined,
      }),
    ),
  });
}

function createRoute(deps: KeyDeps): RouteRecord {
  const { maxKeys } = deps.config;
  return route({
    method: "POST",
    path: "/api/v1/keys",
    credential: "session",
    leastRole: "admin",
    operationId: "createKey",
    tag: "API keys",
    audit: "key.created",
    summary: "Create an API key",
    description: `Needs a session, so that a leaked key cannot make others. At most ${maxKeys} per workspace; refused with 402 while it is suspended and 403 while it is pending. A key may be limited, by \`scope\`, for good.`,
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
      402: "The workspace is suspended",
      403: "The workspace is pending, or the request carries an API key in place of a session",
      409: `The workspace has ${maxKeys} keys`,
      503: "A process of a version without limited keys still runs",
    },
    examples: {
      request: {
        "A key for one consumer": { name: "worker 1" },
        "A key that sends, and nothing else": { name: "shop backend", scope: "send" },
        "A key for one customer's things": { name: "shop 7", scope: "customer", customer_uid: "shop-7" },
      },
    },
    async handle(call) {
      const name = requireName(call.body.name);
      const scope = readScope(call.body);
      const { id, key } = await createKey(deps.pool, originOf(call), {
        name,
        maxKeys,
        nowMs: deps.nowMs(),
        scope,
      });
      return { id, name, key, ...scopeAnswer(scope) };
    },
  });
}
