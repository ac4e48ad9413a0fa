import { useQuery } from "@tanstack/react-query";
import { Link, useRouterState } from "@tanstack/react-router";
import { ChevronRight } from "lucide-react";
import { useEffect } from "react";
import { targetQuery } from "../api/queries.ts";
import { pages } from "./pages.ts";

const otherNames: Record<string, string> = { start: "Get started", billing: "Usage" };

/** The name of the page, and the name or id of the open object. */
export function Breadcrumb() {
  const path = useRouterState({ select: (state) => state.location.pathname });
  const [first = "", id] = path.split("/").filter((part) => part !== "");
  const isTarget = (first === "targets" || first === "mailboxes") && id !== undefined && id !== "new";
  const target = useQuery({ ...targetQuery(id ?? ""), enabled: isTarget });
  const known = pages.find((one) => one.path === `/${first}`)?.name ?? otherNames[first];
  const name = known ?? "Not found";
  const opened =
    id === undefined || known === undefined ? undefined : (target.data?.name ?? nameOf(first, id));
  useEffect(() => {
    // The title distinguishes browser tabs and history entries.
    document.title = [opened, name, "Postrider"].filter(Boolean).join(" – ");
    return () => {
      document.title = "Postrider";
    };
  }, [opened, name]);
  return (
    <nav aria-label="Breadcrumb" className="flex min-w-0 items-center gap-1 font-medium">
      {opened === undefined ? (
        <span className="truncate">{name}</span>
      ) : (
        <>
          <Link to={`/${first}`} search={{}} className="text-muted hover:text-ink">
            {name}
          </Link>
          <ChevronRight size={14} className="shrink-0 text-muted" aria-hidden />
          <span className="max-w-60 truncate" title={opened}>
            {opened}
          </span>
        </>
      )}
    </nav>
  );
}

function nameOf(page: string, id: string): string {
  if (id === "new") return "New";
  // A customer's uid is a name that the organization chose, so it is shown in full.
  return page === "customers" ? id.replaceAll("%3A", ":") : `${id.slice(0, 8)}…`;
}
