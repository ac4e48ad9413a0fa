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

const routeTree = root.addChildren([
  createRoute({
    getParentRoute: () => root,
    path: "/sign-in",
    component: lazyPage(() => import("./signIn/SignInPage.tsx"), "SignInPage"),
  }),
  createRoute({
    getParentRoute: () => root,
    path: "/sign-up",
    component: lazyPage(() => import("./signIn/SignUpPage.tsx"), "SignUpPage"),
  }),
  createRoute({
    getParentRoute: () => root,
    path: "/join",
    component: lazyPage(() => import("./signIn/JoinPage.tsx"), "JoinPage"),
  }),
  createRoute({
    getParentRoute: () => root,
    path: "/forgot-password",
    component: lazyPage(() => import("./signIn/ForgotPasswordPage.tsx"), "ForgotPasswordPage"),
  }),
  createRoute({
    getParentRoute: () => root,
    path: "/reset",
    component: lazyPage(() => import("./signIn/ResetPage.tsx"), "ResetPage"),
  }),
  createRoute({
    getParentRoute: () => root,
    path: "/demo",
    component: lazyPage(() => import("./demo/DemoPage.tsx"), "DemoPage"),
  }),
  createRoute({
    getParentRoute: () => root,
    path: "/portal/$org/$",
    component: lazyPage(() => import("./portal/PortalPage.tsx"), "PortalPage"),
  }),
  shell.addChildren([
    createRoute({
      getParentRoute: () => shell,
      path: "/",
      component: lazyPage(() => import("./overview/OverviewPage.tsx"), "OverviewPage"),
    }),
    createRoute({
      getParentRoute: () => shell,
      path: "/start",
      component: lazyPage(() => import("./start/StartPage.tsx"), "StartPage"),
    }),
    createRoute({
      getParentRoute: () => shell,
      path: "/items",
      component: lazyPage(() => import("./items/ItemsPage.tsx"), "ItemsPage"),
    }),
    createRoute({
      getParentRoute: () => shell,
      path: "/items/$id",
      component: lazyPage(() => import("./items/ItemPage.tsx"), "ItemPage"),
    }),
    createRoute({
      getParentRoute: () => shell,
      path: "/targets",
      component: lazyPage(() => import("./targets/TargetsPage.tsx"), "TargetsPage"),
    }),
    createRoute({
      getParentRoute: () => shell,
      path: "/targets/new",
      component: lazyPage(() => import("./targets/NewTargetPage.tsx"), "NewTargetPage"),
    }),
    createRoute({
      getParentRoute: () => shell,
      path: "/targets/$id",
      component: lazyPage(() => import("./targets/TargetPage.tsx"), "TargetPage"),
    }),
    createRoute({
      getParentRoute: () => shell,
      path: "/customers",
      component: lazyPage(() => import("./customers/CustomersPage.tsx"), "CustomersPage"),
    }),
    createRoute({
      getParentRoute: () => shell,
      path: "/customers/$uid",
      component: lazyPage(() => import("./customers/CustomerPage.tsx"), "CustomerPage"),
    }),
    createRoute({
      getParentRoute: () => shell,
      path: "/event-types",
      component: lazyPage(() => import("./eventTypes/EventTypesPage.tsx"), "EventTypesPage"),
    }),
    createRoute({
      getParentRoute: () => shell,
      path: "/publications",
      component: lazyPage(() => import("./publications/PublicationsPage.tsx"), "PublicationsPage"),
    }),
    createRoute({
      getParentRoute: () => shell,
      path: "/publications/$id",
      component: lazyPage(() => import("./publications/PublicationPage.tsx"), "PublicationPage"),
    }),
    createRoute({
      getParentRoute: () => shell,
      path: "/mailboxes",
      component: lazyPage(() => import("./mailboxes/MailboxesPage.tsx"), "MailboxesPage"),
    }),
    createRoute({
      getParentRoute: () => shell,
      path: "/mailboxes/$id",
      component: lazyPage(() => import("./mailboxes/MailboxPage.tsx"), "MailboxPage"),
    }),
    createRoute({
      getParentRoute: () => shell,
      path: "/handoffs",
      component: lazyPage(() => import("./handoffs/HandoffsPage.tsx"), "HandoffsPage"),
    }),
    createRoute({
      getParentRoute: () => shell,
      path: "/replays",
      component: lazyPage(() => import("./replays/ReplaysPage.tsx"), "ReplaysPage"),
    }),
    createRoute({
      getParentRoute: () => shell,
      path: "/replays/$id",
      component: lazyPage(() => import("./replays/ReplayPage.tsx"), "ReplayPage"),
    }),
    createRoute({
      getParentRoute: () => shell,
      path: "/usage",
      component: lazyPage(() => import("./usage/UsagePage.tsx"), "UsagePage"),
    }),
    // The payment pages return to this address.
    createRoute({
      getParentRoute: () => shell,
      path: "/billing",
      component: () => <Redirect to="/usage" />,
    }),
    createRoute({
      getParentRoute: () => shell,
      path: "/settings",
      component: lazyPage(() => import("./settings/SettingsPage.tsx"), "SettingsPage"),
    }),
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
