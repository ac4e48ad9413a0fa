import { Type } from "typebox";
import type pg from "pg";
import { RoleName } from "../accounts/schemas.ts";
import { originOf } from "../audit/origin.ts";
import { users, usersAndKeys } from "../http/contract/access.ts";
import { ApiError, notFound, unauthorized } from "../http/contract/errors.ts";
import { removal, routesOf, type RouteRecord } from "../http/contract/route.ts";
import { readKeys } from "../http/contract/scope.ts";
import { pageCursor } from "../http/contract/schemas.ts";
import { isId } from "../postgres/ids.ts";
import { changeRole, listMembers, type MemberRefusal, removeMember } from "./memberStore.ts";
import { Member } from "./schemas.ts";
import examples from "./examples.json" with { type: "json" };

const route = routesOf("Members");

const refusals = { 409: "It is the last admin (`last_admin`)" };

/** The users of an organization and their roles. */
export function memberRoutes(deps: { pool: pg.Pool }): RouteRecord[] {
  return [listRoute(deps), changeRoleRoute(deps), removeRoute(deps)];
}

function listRoute(deps: { pool: pg.Pool }): RouteRecord {
  return route("listMembers", "GET /api/v1/members", {
    access: usersAndKeys("viewer", readKeys),
    summary: "List the members of the organization, the first to come first",
    query: Type.Object({
      limit: Type.Integer({ minimum: 1, maximum: 100, default: 50 }),
      after: Type.Optional(pageCursor("The id of the last member of the page before")),
    }),
    response: { 200: Type.Object({ members: Type.Array(Member) }) },
    examples: examples.listMembers,
    handle: async ({ caller, query: { limit, after } }) => ({
      members: await listMembers(deps.pool, { orgId: caller.orgId, after, limit }),
    }),
  });
}

function changeRoleRoute(deps: { pool: pg.Pool }): RouteRecord {
  return route("changeRole", "PATCH /api/v1/members/:id", {
    access: users("admin"),
    audit: "member.role_changed",
    summary: "Give a member another role",
    description:
      "It counts from the member's next request on. 503 with `Retry-After` while a process of a version runs that knows no roles.",
    body: Type.Object({ role: RoleName }),
    response: { 200: Member },
    errors: refusals,
    examples: { request: { "Only looks from now on": { role: "viewer" } } },
    async handle(call) {
      const { params, body } = call;
      if (!isId(params.id)) throw notFound();
      const changed = await changeRole(deps.pool, originOf(call), { userId: params.id, role: body.role });
      if (changed.outcome !== "changed") throw refusalError(changed.outcome);
      return changed.member;
    },
  });
}

function removeRoute(deps: { pool: pg.Pool }): RouteRecord {
  return route("removeMember", "DELETE /api/v1/members/:id", {
    access: users("admin"),
    audit: "member.removed",
    summary: "Remove a member, whose account and sessions end at once",
    description: "API keys belong to the organization and stay.",
    errors: refusals,
    ...removal(async (call, id) => {
      const outcome = await removeMember(deps.pool, originOf(call), id);
      if (outcome !== "removed") throw refusalError(outcome);
    }),
  });
}

function refusalError(refusal: MemberRefusal): ApiError {
  switch (refusal) {
    case "no_organization":
      return unauthorized();
    case "not_found":
      return notFound();
    case "last_admin":
      return new ApiError(
        409,
        "the last admin cannot be removed or get another role: make another admin first",
        { code: "last_admin" },
      );
  }
}
