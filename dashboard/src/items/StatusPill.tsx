import type { LucideIcon } from "lucide-react";
import type { ReactNode } from "react";
import type { Status } from "../api/shapes.ts";
import { statusLooks } from "./statuses.ts";

export function StatusPill({ status }: { status: Status }) {
  const { icon, look, meaning } = statusLooks[status] ?? statusLooks.QUEUED;
  return (
    <Pill icon={icon} look={look} meaning={meaning}>
      {status}
    </Pill>
  );
}

interface PillProps {
  icon: LucideIcon;
  /** Classes that set the colours. */
  look: string;
  meaning: string;
  children: ReactNode;
}

/** A status: an icon, a word and a colour. */
export function Pill({ icon: Icon, look, meaning, children }: PillProps) {
  return (
    <span
      title={meaning}
      className={`inline-flex h-5 items-center align-middle gap-1 rounded-pill px-2 text-meta font-medium whitespace-nowrap ${look}`}
    >
      <Icon size={12} aria-hidden />
      {children}
    </span>
  );
}
