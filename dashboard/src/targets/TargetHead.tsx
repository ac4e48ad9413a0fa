import type { ReactNode } from "react";
import type { Health, Target } from "../api/shapes.ts";
import { EnabledPill } from "./EnabledPill.tsx";

interface TargetHeadProps {
  target: Target;
  circuit?: Health["circuit"] | undefined;
  /** Content below the target's name. */
  children: ReactNode;
  actions: ReactNode;
}

/** The head of a page that is about one target. */
export function TargetHead({ target, circuit, children, actions }: TargetHeadProps) {
  return (
    <div className="flex flex-wrap items-start justify-between gap-3">
      <div className="grid min-w-0 gap-1">
        <div className="flex flex-wrap items-center gap-2">
          <h1 className="min-w-0 text-page font-semibold wrap-anywhere">{target.name}</h1>
          <EnabledPill target={target} circuit={circuit} />
        </div>
        {children}
      </div>
      {actions}
    </div>
  );
}
