import { useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import type { Publication } from "../api/shapes.ts";
import { Card, Facts } from "../controls/Card.tsx";
import { Id } from "../controls/Copy.tsx";
import { For } from "../controls/For.tsx";
import { useRefreshMs } from "../live/liveState.ts";
import { usePathId } from "../shell/usePathId.ts";
import { Loaded } from "../states/Loaded.tsx";
import { Moment } from "../time/Moment.tsx";
import { counted, countOutcomes, type Outcome, outcomeNames, outcomes } from "./outcomes.ts";
import { PublicationItems } from "./PublicationItems.tsx";
import { publicationQuery } from "./publicationQueries.ts";
import { ReplayPublication } from "./ReplayPublication.tsx";

/** One publication with the outcome of each of its items, refreshed while an item is in progress. */
export function PublicationPage() {
  const id = usePathId();
  const pollMs = useRefreshMs(2000, 2000);
  const query = useQuery({
    ...publicationQuery(id),
    refetchInterval: ({ state }) =>
      state.data !== undefined && countOutcomes(state.data.items).waiting === 0 ? false : pollMs,
  });
  return (
    <Loaded query={query} title="Publication">
      {(publication) => <PublicationView publication={publication} />}
    </Loaded>
  );
}

function PublicationView({ publication }: { publication: Publication }) {
  const { customer_uid: customer, correlation_id: correlation, items } = publication;
  const counts = countOutcomes(items);
  return (
    <div className="grid gap-4">
      <div className="grid min-w-0 gap-1">
        <h1 className="text-page font-semibold wrap-anywhere">
          {publication.event_type || "Publication without a type"}
        </h1>
        <p className="text-form">{progressText(items.length, counts)}</p>
        <OutcomeBar counts={counts} total={items.length} />
      </div>
      <For least="member">
        <ReplayPublication publication={publication} failed={counts.failed} />
      </For>
      <Card title="About">
        <Facts
          facts={[
            ["Id", <Id key="id" id={publication.id} />],
            [
              "Customer",
              customer === null ? (
                "none: targets that belong to no customer"
              ) : (
                <Link
                  key="customer"
                  to="/customers/$uid"
                  params={{ uid: customer }}
                  search={{}}
                  className="break-all underline"
                >
                  {customer}
                </Link>
              ),
            ],
            ["Published", <Moment key="at" at={publication.created_at} />],
            [
              "Correlation",
              correlation === null ? (
                "none"
              ) : (
                <Link key="correlation" to="/items" search={{ correlation }} className="break-all underline">
                  {correlation}
                </Link>
              ),
            ],
          ]}
        />
      </Card>
      <PublicationItems publication={publication} counts={counts} />
    </div>
  );
}

function progressText(total: number, counts: Record<Outcome, number>): string {
  if (total === 0) return "It reached no target: none matched when it was published.";
  const parts = outcomes
    .filter((outcome) => counts[outcome] > 0)
    .map((outcome) => `${counts[outcome].toLocaleString("en")} ${outcomeNames[outcome].toLowerCase()}`);
  return `${counted(total, "item")}: ${parts.join(", ")}.`;
}

const looks: Record<Outcome, string> = {
  delivered: "fill-delivered",
  waiting: "fill-waiting",
  ended: "fill-ended",
  failed: "fill-failed",
};

/** A bar of the outcomes that the text above counts: delivered first, failed last. */
function OutcomeBar({ counts, total }: { counts: Record<Outcome, number>; total: number }) {
  if (total === 0) return null;
  let from = 0;
  return (
    <svg
      viewBox={`0 0 ${total} 1`}
      preserveAspectRatio="none"
      className="h-2 w-full rounded-pill"
      aria-hidden
    >
      {(Object.keys(looks) as Outcome[]).map((outcome) => {
        const x = from;
        from += counts[outcome];
        return <rect key={outcome} x={x} width={counts[outcome]} height={1} className={looks[outcome]} />;
      })}
    </svg>
  );
}
