import type { ReactNode } from "react";
import { useMay } from "../api/role.ts";

/** What only those see who may do it. */
export function For({ least, children }: { least: "member" | "admin"; children: ReactNode }) {
  return useMay(least) ? children : null;
}
