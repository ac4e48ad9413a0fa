import { Type } from "typebox";
import type pg from "pg";
import { RoleName } from "../accounts/schemas.ts";
import { originOf } from "../audit/origin.ts";
import { notFound } from "../http/contract/errors.ts";
import { removal } from "../http/contract/removal.ts";
import { route, type Routes } from "../http/contract/route.ts";
import { IdParams, pageCursor } from "../http/contract/schemas.ts";
import { isId } from "../postgres/ids.ts";
import { changeRole, listMembers, removeMember } from "./memberStore.ts";
import { Member } from "./schemas.ts";

const refusals = { 409: "It is the last admin (`last_admin`)" };

/** The users of an organization and what they may do. */
export function memberRoutes(deps: { pool: pg.Pool }): Routes<"list" | "changeRole" | "remove"> {
  return {
    list: route(
      {
        summary: "List the members of the organization, the first to come first",
        querystring: Type.Object({
          limit: Type.Integer({ minimum: 1, maximum: 100, default: 50 }),
          after: Type.Optional(pageCursor("The id of the last member of the page before")),
        }),
        response: { 200: Type.Object({ members: Type.Array(Member) }) },
      },
      async ({ caller, query: { limit, after } }) => ({
        members: await listMembers(deps.pool, { orgId: caller.orgId, after, limit }),
      }),
    ),
    changeRole: route(
      {
        summary: "Give a member another role",
        description:
          "It counts from the member's next request on. 503 with `Retry-After` while a process of a version runs that knows no roles.",
        params: IdParams,
        body: Type.Object({ role: RoleName }),
        response: { 200: Member },
        errors: refusals,
      },
      async (call) => {
        const { params, body } = call;
        if (!isId(params.id)) throw notFound();
        return changeRole(deps.pool, originOf(call), { userId: params.id, role: body.role });
      },
    ),
    remove: removal(
      {
        summary: "Remove a member, whose account and sessions end at once",
        description: "API keys belong to the organization and stay.",
        errors: refusals,
      },
      (call, id) => removeMember(deps.pool, originOf(call), id),
    ),
  };
}
