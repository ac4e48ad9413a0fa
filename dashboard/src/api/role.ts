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

/**
 * Whether who is signed in may do what takes this role. The service decides with each request; this keeps the page from
 * offering what it would refuse.
 */
export function useMay(least: Exclude<Role, "viewer">): boolean {
  const isPortal = portalOrganization !== undefined;
  const me = useQuery({ ...meQuery, enabled: !isPortal });
  // Actions of customers are shown in the portal alone; elsewhere they need a member.
  return isPortal ? least === "member" : mayAs(me.data?.user, least);
}

export function mayAs(user: object | undefined, least: Exclude<Role, "viewer">): boolean {
  const role = user !== undefined && "role" in user ? (user.role as Role) : "viewer";
  return ranks[role] >= ranks[least];
}
