import { Menu, Moon, Search, Sun } from "lucide-react";
import { lazy, Suspense } from "react";
import { IconButton } from "../controls/Button.tsx";
import { toggleTimeZone, useTimeZone } from "../time/timeZone.ts";
import { LiveBadge } from "./LiveBadge.tsx";
import { Breadcrumb } from "./Breadcrumb.tsx";
import { toggleTheme, useTheme } from "./theme.ts";

const AccountMenu = lazy(async () => ({ default: (await import("./AccountMenu.tsx")).AccountMenu }));

/** The top bar: breadcrumb, palette, live state, time zone, theme and account. */
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
          className="inline-flex h-8 items-center gap-2 rounded-control border border-control px-2.5 text-muted hover:bg-sunken"
        >
          <Search size={14} aria-hidden />
          <span className="max-lg:sr-only">Go to…</span>
          <kbd className="text-meta max-lg:hidden" aria-hidden>
            Ctrl K
          </kbd>
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
        <Suspense fallback={<span className="size-8" />}>
          <AccountMenu />
        </Suspense>
      </div>
    </header>
  );
}
