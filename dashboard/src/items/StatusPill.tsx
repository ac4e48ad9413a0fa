import type { Status } from "../api/shapes.ts";
import { statusLooks } from "./statuses.ts";

export function StatusPill({ status }: { status: Status }) {
  const { icon: Icon, look, meaning } = statusLooks[status] ?? statusLooks.QUEUED;
  return (
    <span
      title={meaning}
      className={`inline-flex h-5 items-center align-middle gap-1 rounded-pill px-2 text-meta font-medium whitespace-nowrap ${look}`}
    >
      <Icon size={12} aria-hidden />
      {status}
    </span>
  );
}
