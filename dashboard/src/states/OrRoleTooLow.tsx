import { useQuery } from "@tanstack/react-query";
import type { ReactNode } from "react";
import { mayAs, meQuery } from "../api/role.ts";
import { SkeletonRows } from "./Loaded.tsx";
import { RoleTooLow } from "./RoleTooLow.tsx";

/** What takes a role, or that it does; a role that cannot be read is left for the service to judge. */
export function OrRoleTooLow({ least, children }: { least: "member" | "admin"; children: ReactNode }) {
  const me = useQuery(meQuery);
  if (me.isPending) return <SkeletonRows rows={4} />;
  return me.isError || mayAs(me.data.user, least) ? children : <RoleTooLow />;
}
