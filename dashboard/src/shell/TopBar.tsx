import { Link, useRouterState } from "@tanstack/react-router";
import { ChevronRight, Menu, Moon, Search, Sun } from "lucide-react";
import { IconButton } from "../controls/Button.tsx";
import { toggleTimeZone, useTimeZone } from "../time/timeZone.ts";
import { LiveBadge } from "./LiveBadge.tsx";
import { pages } from "./pages.ts";
import { toggleTheme, useTheme } from "./theme.ts";

/** Where one is, how fresh it is, and how it is shown. */
export function TopBar({ onPalette, onMenu }: { onPalette: () => void; onMenu: () => void }) {
  const zone = useTimeZone();
  const isDark = useTheme() === "dark";
  return (
    <header className="sticky top-0 z-20 flex h-13 items-center gap-2 border-b bg-canvas px-4 md:px-6">
      <IconButton name="Pages" onClick={onMenu} className="md:hidden">
        <Menu size={18} aria-hidden />
      </IconButton>
      <Breadcrumb />
      <div className="ml-auto flex items-center gap-1.5">
        <button
          type="button"
          onClick={onPalette}
          aria-label="Go to a page or an id"
          className="inline-flex h-8 items-center gap-2 rounded-control border border-control px-2.5 text-muted hover:bg-sunken"
        >
          <Search size={14} aria-hidden />
          <span className="max-lg:hidden">Go to…</span>
          <kbd className="text-meta max-lg:hidden">Ctrl K</kbd>
        </button>
        <LiveBadge />
        <button
          type="button"
          onClick={toggleTimeZone}
          aria-label={`Times are ${zone === "UTC" ? "in UTC; show them in local time" : "local; show them in UTC"}`}
          className="h-8 rounded-control border border-control px-2.5 font-medium hover:bg-sunken max-md:hidden"
        >
          {zone === "UTC" ? "UTC" : "Local"}
        </button>
        <IconButton name={isDark ? "Light theme" : "Dark theme"} onClick={toggleTheme}>
          {isDark ? <Sun size={16} aria-hidden /> : <Moon size={16} aria-hidden />}
        </IconButton>
      </div>
    </header>
  );
}

const otherNames: Record<string, string> = { start: "Get started", demo: "Demo" };

function Breadcrumb() {
  const path = useRouterState({ select: (state) => state.location.pathname });
  const [first = "", id] = path.split("/").filter((part) => part !== "");
  const page = pages.find((one) => one.path === `/${first}`);
  const name = page?.name ?? otherNames[first] ?? "";
  return (
    <nav aria-label="Breadcrumb" className="flex min-w-0 items-center gap-1 font-medium">
      {id === undefined ? (
        <span className="truncate">{name}</span>
      ) : (
        <>
          <Link to={`/${first}`} search={{}} className="text-muted hover:text-ink">
            {name}
          </Link>
          <ChevronRight size={14} className="shrink-0 text-muted" aria-hidden />
          <code className="truncate text-meta">{id.slice(0, 8)}…</code>
        </>
      )}
    </nav>
  );
}
