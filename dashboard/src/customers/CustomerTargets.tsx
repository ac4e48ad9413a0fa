import { Link } from "@tanstack/react-router";
import type { Target } from "../api/shapes.ts";
import { RowList } from "../controls/Rows.tsx";
import { useRefreshMs } from "../live/liveState.ts";
import { Empty } from "../states/Empty.tsx";
import { PagedList, usePages } from "../states/PagedList.tsx";
import { EnabledPill } from "../targets/EnabledPill.tsx";
import { hostOf, kindOf, pathOf } from "../targets/kinds/kinds.ts";
import { NewTargetLink } from "../targets/NewTargetLink.tsx";
import { customerTargetPage, listCustomerTargets } from "./customerQueries.ts";

/** The targets of a customer. */
export function CustomerTargets({ uid }: { uid: string }) {
  const { query, rows: targets } = usePages({
    queryKey: ["targets", "ofCustomer", uid],
    read: (after, signal) => listCustomerTargets(uid, { after, signal }),
    size: customerTargetPage,
    cursorOf: ({ id }) => id,
    refreshMs: useRefreshMs(10_000, 15_000),
  });
  const newTarget = (look: "plain" | "primary") => (
    <NewTargetLink search={{ customer: uid }} look={look}>
      New target
    </NewTargetLink>
  );
  return (
    <section aria-labelledby="customer-targets" className="grid gap-2">
      <div className="flex items-center justify-between gap-2">
        <h2 id="customer-targets" className="text-section font-semibold">
          Targets
        </h2>
        {targets.length > 0 && newTarget("plain")}
      </div>
      <PagedList
        query={query}
        isEmpty={targets.length === 0}
        empty={<Empty title="No targets yet" action={newTarget("primary")} />}
      >
        <RowList of={targets}>{(target) => <Row target={target} />}</RowList>
      </PagedList>
    </section>
  );
}

function Row({ target }: { target: Target }) {
  const { icon: Icon, label } = kindOf(target);
  return (
    <li className="border-b last:border-0">
      <Link
        to={pathOf(target)}
        params={{ id: target.id }}
        search={{}}
        className="grid min-h-11 grid-cols-[minmax(0,1fr)_auto] items-center gap-x-4 gap-y-0.5 px-4 py-2 hover:bg-sunken md:grid-cols-[minmax(0,1fr)_minmax(0,1fr)_minmax(0,1fr)_auto]"
      >
        <span className="flex min-w-0 items-center gap-2 font-medium">
          <Icon size={16} className="shrink-0 text-muted" aria-label={label} />
          <span className="truncate">{target.name}</span>
        </span>
        <span className="truncate text-muted max-md:order-1">{hostOf(target) || label}</span>
        <code className="truncate text-meta text-muted max-md:hidden">{target.uid}</code>
        <EnabledPill target={target} />
      </Link>
    </li>
  );
}
