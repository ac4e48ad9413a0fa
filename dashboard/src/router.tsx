import type { ComponentType } from "react";
import { createRootRoute, createRoute, createRouter, Outlet } from "@tanstack/react-router";
import { basePath } from "./api/basePath.ts";
import { Problem } from "./api/problem.ts";
import { Redirect } from "./shell/Redirect.tsx";
import { lazyPage } from "./shell/lazyPage.ts";
import { reloadWhenBack } from "./shell/replacedPage.ts";
import { Shell } from "./shell/Shell.tsx";
import type { Search } from "./shell/useUrlState.ts";
import { NotFoundPage, ProblemCard } from "./states/ProblemCard.tsx";

const root = createRootRoute({ component: Outlet, validateSearch: (search): Search => search as Search });
const shell = createRoute({ getParentRoute: () => root, id: "shell", component: Shell });

type Load<Name extends string> = () => Promise<Record<Name, ComponentType>>;

/** A page without the frame of a signed-in user. */
function bare<const Path extends string, Name extends string>(path: Path, load: Load<Name>, name: Name) {
  return createRoute({ getParentRoute: () => root, path, component: lazyPage(load, name) });
}

/** A page of a signed-in user. */
function inShell<const Path extends string, Name extends string>(path: Path, load: Load<Name>, name: Name) {
  return createRoute({ getParentRoute: () => shell, path, component: lazyPage(load, name) });
}

const routeTree = root.addChildren([
  bare("/sign-in", () => import("./signIn/SignInPage.tsx"), "SignInPage"),
  bare("/sign-up", () => import("./signIn/SignUpPage.tsx"), "SignUpPage"),
  bare("/join", () => import("./signIn/JoinPage.tsx"), "JoinPage"),
  bare("/forgot-password", () => import("./signIn/ForgotPasswordPage.tsx"), "ForgotPasswordPage"),
  bare("/reset", () => import("./signIn/ResetPage.tsx"), "ResetPage"),
  bare("/demo", () => import("./demo/DemoPage.tsx"), "DemoPage"),
  bare("/portal/$org/$", () => import("./portal/PortalPage.tsx"), "PortalPage"),
  shell.addChildren([
    inShell("/", () => import("./overview/OverviewPage.tsx"), "OverviewPage"),
    inShell("/start", () => import("./start/StartPage.tsx"), "StartPage"),
    inShell("/items", () => import("./items/ItemsPage.tsx"), "ItemsPage"),
    inShell("/items/$id", () => import("./items/ItemPage.tsx"), "ItemPage"),
    inShell("/targets", () => import("./targets/TargetsPage.tsx"), "TargetsPage"),
    inShell("/targets/new", () => import("./targets/NewTargetPage.tsx"), "NewTargetPage"),
    inShell("/targets/$id", () => import("./targets/TargetPage.tsx"), "TargetPage"),
    inShell("/customers", () => import("./customers/CustomersPage.tsx"), "CustomersPage"),
    inShell("/customers/$uid", () => import("./customers/CustomerPage.tsx"), "CustomerPage"),
    inShell("/event-types", () => import("./eventTypes/EventTypesPage.tsx"), "EventTypesPage"),
    inShell("/publications", () => import("./publications/PublicationsPage.tsx"), "PublicationsPage"),
    inShell("/publications/$id", () => import("./publications/PublicationPage.tsx"), "PublicationPage"),
    inShell("/mailboxes", () => import("./mailboxes/MailboxesPage.tsx"), "MailboxesPage"),
    inShell("/mailboxes/$id", () => import("./mailboxes/MailboxPage.tsx"), "MailboxPage"),
    inShell("/handoffs", () => import("./handoffs/HandoffsPage.tsx"), "HandoffsPage"),
    inShell("/replays", () => import("./replays/ReplaysPage.tsx"), "ReplaysPage"),
    inShell("/replays/$id", () => import("./replays/ReplayPage.tsx"), "ReplayPage"),
    inShell("/usage", () => import("./usage/UsagePage.tsx"), "UsagePage"),
    // The payment pages return to this address.
    createRoute({
      getParentRoute: () => shell,
      path: "/billing",
      component: () => <Redirect to="/usage" />,
    }),
    inShell("/settings", () => import("./settings/SettingsPage.tsx"), "SettingsPage"),
    createRoute({ getParentRoute: () => shell, path: "$", component: NotFoundPage }),
  ]),
]);

export const router = createRouter({
  routeTree,
  basepath: basePath,
  defaultPreload: "intent",
  // Pages are mounted anew when their id changes: a portal link of one customer, or a target's new secret, must not appear on
  // the page of another.
  defaultRemountDeps: ({ params }) => params as Record<string, string>,
  scrollRestoration: true,
  defaultErrorComponent: ({ error, reset }) => (
    <div className="p-6">
      <ProblemCard
        error={error}
        onRetry={error instanceof Problem ? reset : () => void reloadWhenBack(reset)}
      />
    </div>
  ),
  // Parameters are plain text, not JSON, so that `?status=FAILED&target=00ff` stays readable and an id of digits stays text.
  parseSearch: (text) => Object.fromEntries(new URLSearchParams(text)),
  stringifySearch: (search) => {
    const entries = Object.entries(search as Search).filter(
      (entry): entry is [string, string] => entry[1] !== undefined && entry[1] !== "",
    );
    const text = new URLSearchParams(entries).toString();
    return text === "" ? "" : `?${text}`;
  },
});

declare module "@tanstack/react-router" {
  interface Register {
    router: typeof router;
  }
}
