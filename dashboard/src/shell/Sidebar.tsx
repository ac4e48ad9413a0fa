import { Link } from "@tanstack/react-router";
import { basePath } from "../api/basePath.ts";
import { toggleTimeZone, useTimeZone } from "../time/timeZone.ts";
import { pages } from "./pages.ts";

/** Links to the pages, and at the foot links that are needed less often. */
export function Sidebar({ onGone }: { onGone?: () => void }) {
  return (
    <nav aria-label="Pages" className="flex h-full flex-col gap-1 p-3">
      <Link
        to="/"
        {...(onGone && { onClick: onGone })}
        className="mb-3 flex items-center gap-2 px-2 py-1 text-section font-semibold"
      >
        <img src={`${basePath}mark.svg`} alt="" width={24} height={24} />
        Postrider
      </Link>
      {pages.map(({ path, name, icon: Icon }) => (
        <Link
          key={path}
          to={path}
          search={{}}
          activeOptions={{ exact: path === "/", includeSearch: false }}
          {...(onGone && { onClick: onGone })}
          className="flex h-8 items-center gap-2.5 rounded-control px-2 font-medium text-muted hover:bg-sunken hover:text-ink aria-[current=page]:bg-sunken aria-[current=page]:text-ink"
        >
          <Icon size={16} aria-hidden />
          {name}
        </Link>
      ))}
      <div className="mt-auto grid gap-1 text-muted">
        <FootLink to="/start" name="Get started" {...(onGone && { onGone })} />
        <FootLink to="/demo" name="Demo" {...(onGone && { onGone })} />
        {onGone && <ZoneChoice />}
        <a href={`${basePath}docs`} className="rounded-control px-2 py-1 hover:bg-sunken hover:text-ink">
          API reference
        </a>
      </div>
    </nav>
  );
}

/** The choice of the time zone, for narrow windows, in which the top bar has no room for it. */
function ZoneChoice() {
  const zone = useTimeZone();
  return (
    <button
      type="button"
      onClick={toggleTimeZone}
      className="rounded-control px-2 py-1 text-left hover:bg-sunken hover:text-ink"
    >
      {zone === "UTC" ? "Show local times" : "Show times in UTC"}
    </button>
  );
}

function FootLink({ to, name, onGone }: { to: string; name: string; onGone?: () => void }) {
  return (
    <Link
      to={to}
      search={{}}
      {...(onGone && { onClick: onGone })}
      className="rounded-control px-2 py-1 hover:bg-sunken hover:text-ink aria-[current=page]:bg-sunken aria-[current=page]:text-ink"
    >
      {name}
    </Link>
  );
}
