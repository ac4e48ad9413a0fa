import { queryOptions, useQuery } from "@tanstack/react-query";
import { answer, client } from "./client.ts";
import { portalOrganization } from "./portal.ts";
import type { Role } from "./shapes.ts";

const ranks: Record<Role, number> = { viewer: 0, member: 1, admin: 2 };

export const meQuery = queryOptions({
  queryKey: ["me"],
  queryFn: async ({ signal }) => answer(client.GET("/api/v1/auth/me", { signal })),
  staleTime: 30_000,
});

/** Whether the user has at least this role. The service checks each request; this only hides actions that it would refuse. */
export function useMay(least: Exclude<Role, "viewer">): boolean {
  const isPortal = portalOrganization !== undefined;
  const me = useQuery({ ...meQuery, enabled: !isPortal });
  // In the portal, a customer may do everything that needs a member elsewhere.
  return isPortal ? least === "member" : mayAs(me.data?.user, least);
}

export function mayAs(user: object | undefined, least: Exclude<Role, "viewer">): boolean {
  const role = user !== undefined && "role" in user ? (user.role as Role) : "viewer";
  return ranks[role] >= ranks[least];
}
