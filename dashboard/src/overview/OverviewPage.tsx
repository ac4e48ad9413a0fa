import { useQuery } from "@tanstack/react-query";
import { Link, useNavigate } from "@tanstack/react-router";
import { lazy, Suspense } from "react";
import { targetsQuery } from "../api/queries.ts";
import type { Stats, Target } from "../api/shapes.ts";
import { buttonLook } from "../controls/Button.tsx";
import { Card, Figure } from "../controls/Card.tsx";
import { OutcomeChart } from "../figures/LazyOutcomeChart.tsx";
import { type Range, rangeOf, ranges, statsQuery } from "../figures/stats.ts";
import { useRefreshMs } from "../live/liveState.ts";
import { Redirect } from "../shell/Redirect.tsx";
import { useUrlState } from "../shell/useUrlState.ts";
import { Empty } from "../states/Empty.tsx";
import { Loaded, SkeletonRows } from "../states/Loaded.tsx";
import { isFailing, mostListed, percent } from "../targets/health.ts";
import { useTargetHealths } from "../targets/useTargetHealths.ts";
import { duration, milliseconds } from "../time/wording.ts";

const NeedsAttention = lazy(async () => ({ default: (await import("./NeedsAttention.tsx")).NeedsAttention }));

/** Key figures, outcomes and problems. An organization without targets is redirected to the first steps. */
export function OverviewPage() {
  const [search, change] = useUrlState();
  const range = rangeOf(search["range"]);
  const targets = useQuery(targetsQuery);
  const stats = useQuery({ ...statsQuery(range), refetchInterval: useRefreshMs(10_000) });
  if (targets.data?.length === 0 && search["skip"] === undefined) return <Redirect to="/start" />;
  return (
    <div className="grid gap-4">
      <div className="flex flex-wrap items-center justify-between gap-2">
        <h1 className="text-page font-semibold">Overview</h1>
        <RangeChoice range={range} onChange={(next) => change({ range: next })} />
      </div>
      <Loaded query={targets}>{(list) => <Figures targets={list} stats={stats.data} />}</Loaded>
      <Card title="Outcomes">
        <Loaded query={stats} skeleton={<div className="skeleton h-40" />}>
          {(data) => <Outcomes stats={data} />}
        </Loaded>
      </Card>
      {/* The error of the targets is shown above. */}
      {targets.data !== undefined && (
        <Suspense fallback={<SkeletonRows rows={2} />}>
          <NeedsAttention targets={targets.data} />
        </Suspense>
      )}
    </div>
  );
}

function RangeChoice({ range, onChange }: { range: Range; onChange: (range: Range) => void }) {
  return (
    <div role="group" aria-label="Range" className="flex rounded-control border border-control">
      {ranges.map((one) => (
        <button
          key={one}
          type="button"
          aria-pressed={one === range}
          onClick={() => onChange(one)}
          className="h-8 px-3 font-medium text-muted first:rounded-l-control last:rounded-r-control aria-pressed:bg-accent aria-pressed:text-on-accent"
        >
          {one}
        </button>
      ))}
    </div>
  );
}

function Figures({ targets, stats }: { targets: readonly Target[]; stats: Stats | undefined }) {
  const { healths } = useTargetHealths(targets.slice(0, mostListed));
  const totals = stats?.totals;
  const ended = totals === undefined ? 0 : totals.delivered + totals.failed;
  const failing = targets.filter(isFailing);
  const latency = totals?.latency_ms ?? null;
  const isInPart = targets.length > mostListed;
  const oldest = Math.max(0, ...[...healths.values()].map((health) => health.oldest_due_seconds ?? 0));
  return (
    <div className="grid grid-cols-2 gap-4 max-xl:[&>:last-child]:col-span-2 md:grid-cols-3 xl:grid-cols-5">
      <Figure
        name="Accepted"
        value={totals === undefined ? "–" : totals.accepted.toLocaleString("en")}
        detail="replays included"
      />
      <Figure
        name="Delivered"
        value={totals === undefined || ended === 0 ? "–" : percent(totals.delivered / ended)}
        detail={totals === undefined ? undefined : `${totals.failed.toLocaleString("en")} failed`}
      />
      <Figure
        name="Failing targets"
        value={failing.length}
        detail={`of ${targets.length.toLocaleString("en")}`}
      />
      <Figure
        name="Oldest due"
        value={oldest === 0 ? "–" : duration(oldest)}
        detail={isInPart ? `of the first ${mostListed} targets` : undefined}
      />
      <Figure name="p95 latency" value={latency === null ? "–" : milliseconds(latency.p95)} />
    </div>
  );
}

function Outcomes({ stats }: { stats: Stats }) {
  const navigate = useNavigate();
  if (stats.points.length === 0)
    return (
      <Empty
        title="No activity in this range"
        action={
          <Link to="/start" search={{}} className={buttonLook()}>
            Send an item
          </Link>
        }
      />
    );
  return (
    <OutcomeChart
      stats={stats}
      onRange={(from, to) => void navigate({ to: "/items", search: { time: `${from}-${to}` } })}
    />
  );
}
