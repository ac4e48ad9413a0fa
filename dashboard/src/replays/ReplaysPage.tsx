import { useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { targetsQuery } from "../api/queries.ts";
import type { ReplayJob } from "../api/shapes.ts";
import { buttonLook } from "../controls/Button.tsx";
import { RowList } from "../controls/Rows.tsx";
import { useRefreshMs } from "../live/liveState.ts";
import { Empty } from "../states/Empty.tsx";
import { PagedList, usePages } from "../states/PagedList.tsx";
import { Ago } from "../time/Moment.tsx";
import { useTimeZone } from "../time/timeZone.ts";
import { listReplays, replayPage } from "./replayJobs.ts";
import { Progress } from "./Progress.tsx";
import { filterText, progressText, stateNames } from "./replayWords.ts";

/** Replay jobs with their progress, newest first. */
export function ReplaysPage() {
  const pollMs = useRefreshMs(2000, 2000);
  const { query, rows: jobs } = usePages({
    queryKey: ["replays", "list"],
    read: listReplays,
    size: replayPage,
    cursorOf: ({ id }) => id,
    // Only a running job changes by itself. Without one, the page polls less often, because other users may start a job.
    refreshMs: (rows) =>
      pollMs !== false && pollMs * (rows.some(({ status }) => status === "RUNNING") ? 1 : 5),
  });
  return (
    <div className="grid gap-4">
      <h1 className="text-page font-semibold">Replays</h1>
      <PagedList query={query} isEmpty={jobs.length === 0} empty={<NoReplays />}>
        <RowList of={jobs}>{(job) => <Row job={job} />}</RowList>
      </PagedList>
    </div>
  );
}

function NoReplays() {
  return (
    <Empty
      title="No replays yet"
      action={
        <Link to="/items" search={{ status: "FAILED" }} className={buttonLook("primary")}>
          Find failed items
        </Link>
      }
    >
      Filter the items, select them, and replay all that match as one job. Single replays show up beside their
      item.
    </Empty>
  );
}

function Row({ job }: { job: ReplayJob }) {
  const targets = useQuery(targetsQuery);
  const zone = useTimeZone();
  return (
    <li className="border-b last:border-0">
      <Link
        to="/replays/$id"
        params={{ id: job.id }}
        search={{}}
        className="grid gap-x-4 gap-y-1 px-4 py-2.5 hover:bg-sunken md:grid-cols-[minmax(0,1fr)_minmax(0,280px)_120px] md:items-center"
      >
        <span className="min-w-0 font-medium wrap-anywhere md:truncate">
          {filterText(job.filter, targets.data, zone)}
        </span>
        <span className="grid min-w-0 gap-1">
          <Progress job={job} />
          <span className="figures truncate text-meta text-muted">
            {stateNames[job.status]}, {progressText(job)}
            {job.failed > 0 && `, ${job.failed.toLocaleString("en")} failed`}
          </span>
        </span>
        <span className="text-meta text-muted md:text-right">
          <Ago at={job.created_at} />
        </span>
      </Link>
    </li>
  );
}
