import { useQuery } from "@tanstack/react-query";
import type { ReactNode } from "react";
import { mayAs, meQuery } from "../api/role.ts";
import { SkeletonRows } from "./Loaded.tsx";
import { RoleTooLow } from "./RoleTooLow.tsx";

/** Content that needs a role, or a message that the role is too low. If the role cannot be read, the service decides. */
export function OrRoleTooLow({ least, children }: { least: "member" | "admin"; children: ReactNode }) {
  const me = useQuery(meQuery);
  if (me.isPending) return <SkeletonRows rows={4} />;
  return me.isError || mayAs(me.data.user, least) ? children : <RoleTooLow />;
}
