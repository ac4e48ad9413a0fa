import type { ReactNode } from "react";
import { useMay } from "../api/role.ts";

/** Content for users whose role allows the action. */
export function For({ least, children }: { least: "member" | "admin"; children: ReactNode }) {
  return useMay(least) ? children : null;
}
