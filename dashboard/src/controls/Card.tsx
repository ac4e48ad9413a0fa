import type { ReactNode } from "react";
import { focusOn } from "../shell/focusOn.ts";

/** A titled part of a page. */
export function Card({
  title,
  aside,
  children,
  flush = false,
  takesFocus = false,
}: {
  title?: ReactNode;
  aside?: ReactNode;
  children: ReactNode;
  /** No padding, for rows that reach the card's edges. */
  flush?: boolean;
  /** Focuses the title when the card appears, because the card replaces the element that had the focus. */
  takesFocus?: boolean;
}) {
  return (
    <section className="min-w-0 rounded-card border bg-surface">
      {title !== undefined && (
        <header className="flex min-h-12 flex-wrap items-center justify-between gap-2 border-b px-4 py-2">
          <h2
            {...(takesFocus && { ref: focusOn })}
            className="min-w-0 text-section font-semibold wrap-anywhere"
          >
            {title}
          </h2>
          {aside}
        </header>
      )}
      <div className={flush ? "" : "p-4"}>{children}</div>
    </section>
  );
}

/** Names and values, in two columns. */
export function Facts({ facts }: { facts: readonly (readonly [name: string, value: ReactNode])[] }) {
  return (
    <dl className="grid grid-cols-[minmax(96px,max-content)_minmax(0,1fr)] items-baseline gap-x-4 gap-y-1.5">
      {facts.map(([name, value]) => (
        <div key={name} className="contents">
          <dt className="text-muted">{name}</dt>
          <dd className="min-w-0 wrap-anywhere">{value}</dd>
        </div>
      ))}
    </dl>
  );
}

/** More digits and letters do not fit into the narrowest card at the size of figures, or of a page's title. */
const [mostLarge, mostMedium] = [6, 9];

/** One large number with its name. */
export function Figure({ name, value, detail }: { name: string; value: ReactNode; detail?: ReactNode }) {
  const length = typeof value === "string" ? value.replaceAll(/\W/g, "").length : 0;
  const size = length > mostMedium ? "text-section" : length > mostLarge ? "text-page" : "text-figure";
  return (
    <div className="min-w-0 rounded-card border bg-surface p-4">
      <p className="text-muted">{name}</p>
      <p className={`figures font-semibold text-balance wrap-anywhere ${size}`}>{value}</p>
      {detail !== undefined && <p className="text-meta text-muted">{detail}</p>}
    </div>
  );
}
