import { useQueryClient } from "@tanstack/react-query";
import { Outlet, useNavigate, useRouterState } from "@tanstack/react-router";
import { lazy, Suspense, useEffect, useRef, useState } from "react";
import { useLostSession, useSession } from "../api/session.ts";
import { followStream } from "../live/follow.ts";
import { togglePause } from "../live/liveState.ts";
import { SignInAgain } from "../signIn/SignInAgain.tsx";
import { focusPage } from "./focusOn.ts";
import { Redirect } from "./Redirect.tsx";
import { pages } from "./pages.ts";
import { Sidebar } from "./Sidebar.tsx";
import { toggleTheme } from "./theme.ts";
import { TopBar } from "./TopBar.tsx";
import { useKeys } from "./useKeys.ts";

const Palette = lazy(async () => ({ default: (await import("./Palette.tsx")).Palette }));
const KeyHelp = lazy(async () => ({ default: (await import("./KeyHelp.tsx")).KeyHelp }));
const MenuDrawer = lazy(async () => ({ default: (await import("./MenuDrawer.tsx")).MenuDrawer }));

type Over = "palette" | "help" | "menu";

/** The frame of every page of a signed-in user. */
export function Shell() {
  const session = useSession();
  const lost = useLostSession();
  const location = useRouterState({ select: (state) => state.location });
  const shown = session ?? lost;
  if (shown === undefined)
    return <Redirect to="/sign-in" search={location.href === "/" ? {} : { next: location.href }} />;
  return (
    <>
      <SignedIn key={shown.email} />
      {lost !== undefined && <SignInAgain email={lost.email} />}
    </>
  );
}

function SignedIn() {
  const [over, setOver] = useState<Over>();
  const queries = useQueryClient();
  useEffect(() => followStream(queries), [queries]);
  useShellKeys(setOver);
  const close = (): void => setOver(undefined);
  return (
    <div className="min-h-dvh md:grid md:grid-cols-[220px_minmax(0,1fr)]">
      <a
        href="#page"
        className="sr-only z-50 rounded-control bg-accent p-2 text-on-accent focus:not-sr-only focus:fixed focus:top-2 focus:left-2"
      >
        Skip to content
      </a>
      <aside className="sticky top-0 h-dvh border-r bg-surface max-md:hidden">
        <Sidebar />
      </aside>
      <div className="min-w-0">
        <TopBar onPalette={() => setOver("palette")} onMenu={() => setOver("menu")} />
        <main id="page" tabIndex={-1} className="mx-auto max-w-content p-4 outline-none md:p-6">
          <Outlet />
        </main>
      </div>
      <Suspense fallback={null}>
        {over === "palette" && <Palette onClose={close} />}
        {over === "help" && <KeyHelp onClose={close} />}
        {over === "menu" && <MenuDrawer onClose={close} />}
      </Suspense>
    </div>
  );
}

/** Milliseconds after `g` within which the second key counts. */
const sequenceMs = 1500;

function useShellKeys(setOver: (over: Over) => void): void {
  const navigate = useNavigate();
  const gAtMs = useRef(Number.NEGATIVE_INFINITY);
  useEffect(() => {
    function press(event: KeyboardEvent): void {
      if (!(event.ctrlKey || event.metaKey) || event.key.toLowerCase() !== "k") return;
      event.preventDefault();
      setOver("palette");
    }
    function second(event: KeyboardEvent): void {
      if (performance.now() - gAtMs.current > sequenceMs) return;
      gAtMs.current = Number.NEGATIVE_INFINITY;
      const page = pages.find(({ key }) => key === event.key);
      if (page === undefined) return;
      // Takes precedence over the page's own keys, such as `t`.
      event.preventDefault();
      event.stopImmediatePropagation();
      void navigate({ to: page.path, search: {} });
      focusPage();
    }
    window.addEventListener("keydown", press);
    window.addEventListener("keydown", second, { capture: true });
    return () => {
      window.removeEventListener("keydown", press);
      window.removeEventListener("keydown", second, { capture: true });
    };
  }, [navigate, setOver]);
  useKeys({
    g: () => {
      gAtMs.current = performance.now();
    },
    t: toggleTheme,
    p: togglePause,
    "?": () => setOver("help"),
  });
}
