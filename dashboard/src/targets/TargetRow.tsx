import { Link } from "@tanstack/react-router";
import type { ListedHealth, Target } from "../api/shapes.ts";
import { MarkableRow } from "../controls/Rows.tsx";
import { Sparkline } from "../figures/Sparkline.tsx";
import { EnabledPill } from "./EnabledPill.tsx";
import { counted, percent } from "./health.ts";
import { hostOf, kindOf, pathOf } from "./kinds/kinds.ts";

/** Grid classes of the rows and of the column names. */
export const targetColumns =
  "grid grid-cols-[20px_minmax(0,1fr)_auto] items-center gap-x-3 gap-y-1 px-3 md:grid-cols-[20px_minmax(0,1.2fr)_minmax(0,1fr)_96px_72px_80px_140px]";

interface TargetRowProps {
  target: Target;
  health: ListedHealth | undefined;
  isSelected: boolean;
  isMarked: boolean;
  onToggle: () => void;
}

export function TargetRow({ target, health, isSelected, isMarked, onToggle }: TargetRowProps) {
  const { icon: Icon, label, isPulled } = kindOf(target);
  return (
    <MarkableRow isMarked={isMarked} className={`min-h-11 py-1.5 hover:bg-sunken ${targetColumns}`}>
      <input
        type="checkbox"
        aria-label={`Select ${target.name}`}
        checked={isSelected}
        onChange={onToggle}
        className="size-4 accent-accent"
      />
      <Link
        to={pathOf(target)}
        params={{ id: target.id }}
        search={{}}
        className="flex min-w-0 items-center gap-2 font-medium hover:underline"
      >
        <Icon size={16} className="shrink-0 text-muted" aria-label={label} />
        <span className="truncate">{target.name}</span>
      </Link>
      <span className="truncate text-muted max-md:order-last max-md:col-span-2 max-md:col-start-2">
        {hostOf(target) || label}
      </span>
      <span className="max-md:hidden">
        {!isPulled && health !== undefined && <Sparkline hours={health.hours} />}
      </span>
      <span className="figures text-right text-muted max-md:hidden" title="Success in the last 24 hours">
        {percent(health?.success_rate_24h)}
      </span>
      <span className="figures text-right text-muted max-md:hidden" title="Due now">
        {health?.due === undefined ? "–" : counted(health.due, health.due_is_exact)}
      </span>
      <EnabledPill target={target} circuit={health?.circuit} />
    </MarkableRow>
  );
}
