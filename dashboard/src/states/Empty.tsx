import type { ReactNode } from "react";

/** An empty list: nothing yet, with the next action; or no match, with an action that clears the filter. */
export function Empty({
  title,
  children,
  action,
}: {
  title: string;
  children?: ReactNode;
  action?: ReactNode;
}) {
  return (
    <div className="grid min-w-0 justify-items-center gap-3 px-4 py-12 text-center">
      <p className="text-section font-semibold">{title}</p>
      {children !== undefined && <div className="max-w-160 min-w-0 text-muted">{children}</div>}
      {action}
    </div>
  );
}
