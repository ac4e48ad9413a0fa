import { Link } from "@tanstack/react-router";
import { useEffect, useRef } from "react";

/** Tabs as links; the URL holds the open tab. */
export function Tabs({ tabs, open }: { tabs: readonly { id: string; name: string }[]; open: string }) {
  const nav = useRef<HTMLElement>(null);
  useEffect(() => {
    // On a narrow screen the open tab may be beyond the right edge: scroll to it.
    const at = nav.current?.querySelector("[aria-current]");
    if (nav.current === null || at === null || at === undefined) return;
    const beyond = at.getBoundingClientRect().right - nav.current.getBoundingClientRect().right;
    if (beyond > 0) nav.current.scrollLeft += beyond;
  }, [open]);
  return (
    <nav
      ref={nav}
      aria-label="Sections"
      className="scroll-shadows flex gap-x-2.5 overflow-x-auto border-b md:gap-x-4"
    >
      {tabs.map(({ id, name }) => (
        <Link
          key={id}
          to="."
          search={(search: Record<string, string>) => ({ ...search, tab: id })}
          replace
          aria-current={id === open ? "page" : undefined}
          className={`shrink-0 border-b-2 px-0.5 py-2 font-medium ${id === open ? "border-accent text-ink" : "border-transparent text-muted hover:text-ink"}`}
        >
          {name}
        </Link>
      ))}
    </nav>
  );
}
