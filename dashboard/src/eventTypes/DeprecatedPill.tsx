import { TriangleAlert } from "lucide-react";

/** Marks an event type as deprecated. */
export function DeprecatedPill() {
  return (
    <span className="inline-flex items-center gap-1 rounded-full bg-retrying-bg px-2 py-0.5 text-meta font-medium whitespace-nowrap text-retrying">
      <TriangleAlert size={12} aria-hidden />
      Deprecated
    </span>
  );
}
