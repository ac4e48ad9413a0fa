import { Type } from "typebox";
import type pg from "pg";
import { originOf } from "../audit/origin.ts";
import { unauthorized } from "../http/contract/errors.ts";
import { route, type Routes } from "../http/contract/route.ts";
import { Id, NullableTimestamp, Timestamp } from "../http/contract/schemas.ts";
import { Name, requireName } from "./name.ts";
import { readOrganization, renameOrganization } from "./organizationStore.ts";

export interface OrganizationDeps {
  pool: pg.Pool;
}

const billingStates = (["pending", "active", "grace", "suspended", "exempt"] as const).map((state) =>
  Type.Literal(state),
);

/** Reading and renaming the caller's organization. */
export function organizationRoutes(deps: OrganizationDeps): Routes<"read" | "rename"> {
  return {
    read: route(
      {
        summary: "Read the caller's organization",
        response: {
          200: Type.Object({
            org: Type.Object(
              {
                id: Id,
                name: Type.String(),
                slug: Type.String({
                  description: "Unique; made at the creation and kept when the name changes",
                }),
                billing_status: Type.Union(billingStates),
                billing_grace_ends_at: NullableTimestamp,
                created_at: Timestamp,
              },
              { title: "Organization" },
            ),
          }),
        },
      },
      async ({ caller }) => {
        const org = await readOrganization(deps.pool, caller.orgId);
        if (org === undefined) throw unauthorized();
        return { org };
      },
    ),
    rename: route(
      {
        summary: "Rename the caller's organization",
        body: Type.Object({ name: Name }),
        response: { 200: Type.Object({ updated: Type.Literal(true) }) },
      },
      async (call) => {
        await renameOrganization(deps.pool, originOf(call), requireName(call.body.name));
        return { updated: true };
      },
    ),
  };
}
