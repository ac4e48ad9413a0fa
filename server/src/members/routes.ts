import { Type } from "typebox";
import type pg from "pg";
import { RoleName } from "../accounts/schemas.ts";
import { originOf } from "../audit/origin.ts";
import { users, usersAndKeys } from "../http/contract/access.ts";
import { ApiError, idOf, notFound, orRefused, unauthorized } from "../http/contract/errors.ts";
import { removal, routesOf } from "../http/contract/route.ts";
import { readKeys } from "../http/contract/scope.ts";
import { pageCursor } from "../http/contract/schemas.ts";
import { changeRole, listMembers, removeMember } from "./memberStore.ts";
import { Member } from "./schemas.ts";
import examples from "./examples.json" with { type: "json" };

const route = routesOf<{ pool: pg.Pool }>("Members");

const errors = { 409: "The member is the last admin (`last_admin`)" };

const refusals = {
  not_admin: unauthorized,
  not_found: notFound,
  last_admin: () =>
    new ApiError(
      409,
      "the last admin cannot be removed or get another role: make another member an admin first",
      "last_admin",
    ),
};

const listRoute = route("listMembers", "GET /api/v1/members", {
  access: usersAndKeys("viewer", readKeys),
  summary: "List the members of the organization, oldest first",
  query: Type.Object({
    limit: Type.Integer({ minimum: 1, maximum: 100, default: 50 }),
    after: Type.Optional(pageCursor("The id of the last member of the previous page")),
  }),
  response: { 200: Type.Object({ members: Type.Array(Member) }) },
  examples: examples.listMembers,
  handle: async ({ caller, query: { limit, after } }, deps) => ({
    members: await listMembers(deps.pool, { orgId: caller.orgId, after, limit }),
  }),
});

const changeRoleRoute = route("changeRole", "PATCH /api/v1/members/:id", {
  access: users("admin"),
  audit: "member.role_changed",
  summary: "Change the role of a member",
  description:
    "The new role applies from the member's next request. The status is 503, with `Retry-After`, while a process of an older version that does not know roles is running.",
  body: Type.Object({ role: RoleName }),
  response: { 200: Member },
  errors,
  examples: { request: { "Make the member a viewer": { role: "viewer" } } },
  async handle(call, deps) {
    const { params, body } = call;
    const input = { userId: idOf(params.id), role: body.role };
    return orRefused(await changeRole(deps.pool, originOf(call), input), "changed", refusals).member;
  },
});

const removeRoute = route("removeMember", "DELETE /api/v1/members/:id", {
  access: users("admin"),
  audit: "member.removed",
  summary: "Remove a member",
  description:
    "Immediately deletes the account of the member and ends all sessions of the member. API keys belong to the organization and stay valid.",
  errors,
  ...removal(async (call, id, deps: { pool: pg.Pool }) =>
    orRefused(await removeMember(deps.pool, originOf(call), id), "removed", refusals),
  ),
});

/** The users of an organization and their roles. */
export const memberRoutes = [listRoute, changeRoleRoute, removeRoute];
