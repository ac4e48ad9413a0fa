import { MutationCache, notifyManager, QueryClient, QueryClientProvider } from "@tanstack/react-query";
import { RouterProvider } from "@tanstack/react-router";
import { StrictMode } from "react";
import { createRoot } from "react-dom/client";
import { isPassing, Problem } from "./api/problem.ts";
import { currentSession, subscribeSession } from "./api/session.ts";
import { Toasts } from "./controls/Toasts.tsx";
import { liveState } from "./live/liveState.ts";
import { router } from "./router.tsx";
import { reloadWhenReplaced } from "./shell/replacedPage.ts";
import "./style.css";

const retries = 2;
const firstRetryMs = 300;

// By default a timer tells pages of a request's state. Until it fires, a clicked checkbox would show its former state, and
// leaving a page would not be asked about.
notifyManager.setScheduler(queueMicrotask);

const queries = new QueryClient({
  mutationCache: new MutationCache({
    onError: (error) => {
      // An admin has changed the role meanwhile: the page no longer offers what it does not allow.
      if (error instanceof Problem && error.code === "role_too_low")
        void queries.invalidateQueries({ queryKey: ["me"] });
    },
  }),
  defaultOptions: {
    queries: {
      staleTime: 2000,
      // The stream and `useRefreshMs` decide when to read again; a paused page reads nothing.
      refetchOnWindowFocus: false,
      refetchOnReconnect: false,
      // A rate-limited request is not retried: its error card counts down the service's `Retry-After`. While the stream is
      // lost, the next poll is the retry.
      retry: (count, error) =>
        count < retries &&
        liveState() !== "Reconnecting" &&
        isPassing(error) &&
        !(error instanceof Problem && error.status === 429),
      retryDelay: (count) => firstRetryMs * 2 ** count,
    },
  },
});

// The next session may be of another organization, or have another role.
subscribeSession((isSameUser) => {
  if (!isSameUser) queries.clear();
  else if (currentSession() !== undefined) void queries.invalidateQueries();
});
reloadWhenReplaced();
// Loaded late, because nothing can lose the focus before the page shows controls.
void import("./shell/keepFocus.ts").then(({ keepFocus }) => keepFocus());

createRoot(document.querySelector("#root")!).render(
  <StrictMode>
    <QueryClientProvider client={queries}>
      <RouterProvider router={router} />
      <Toasts />
    </QueryClientProvider>
  </StrictMode>,
);
