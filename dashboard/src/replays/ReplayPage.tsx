import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { targetsQuery } from "../api/queries.ts";
import type { ReplayJob } from "../api/shapes.ts";
import { buttonLook } from "../controls/Button.tsx";
import { Card, Facts, Figure } from "../controls/Card.tsx";
import { Id } from "../controls/Copy.tsx";
import { For } from "../controls/For.tsx";
import { ConfirmButton } from "../controls/FormDialog.tsx";
import { useRefreshMs } from "../live/liveState.ts";
import { usePathId } from "../shell/usePathId.ts";
import { Loaded } from "../states/Loaded.tsx";
import { Moment } from "../time/Moment.tsx";
import { useTimeZone } from "../time/timeZone.ts";
import { useNow } from "../time/useNow.ts";
import { Progress } from "./Progress.tsx";
import { cancelReplay, readReplay } from "./replayJobs.ts";
import { averageRate, filterText, progressText, skippedText, stateNames } from "./replayWords.ts";

/** One replay job, refreshed while the job or one of its deliveries is in flight. */
export function ReplayPage() {
  const id = usePathId();
  const pollMs = useRefreshMs(1000, 1000);
  const query = useQuery({
    queryKey: ["replays", "one", id],
    queryFn: ({ signal }) => readReplay(id, signal),
    refetchInterval: ({ state }) => (state.data !== undefined && isOver(state.data) ? false : pollMs),
  });
  return (
    <Loaded query={query} title="Replay">
      {(job) => <Job job={job} />}
    </Loaded>
  );
}

/** Whether the job has ended, and so have the deliveries of its items, which may take longer. */
function isOver({ status, replayed, delivered, failed }: ReplayJob): boolean {
  return status !== "RUNNING" && replayed <= delivered + failed;
}

function Job({ job }: { job: ReplayJob }) {
  const targets = useQuery(targetsQuery);
  const zone = useTimeZone();
  const now = useNow();
  const number = (value: number): string => value.toLocaleString("en");
  return (
    <div className="grid gap-4">
      <div className="flex flex-wrap items-start justify-between gap-3">
        <div className="grid min-w-0 gap-1">
          <h1 className="text-page font-semibold">Replay: {stateNames[job.status].toLowerCase()}</h1>
          <Id id={job.id} />
        </div>
        <div className="flex flex-wrap gap-2">
          <Link to="/items" search={{ replay: job.id }} className={buttonLook()}>
            Its items
          </Link>
          <For least="member">{job.status === "RUNNING" && <CancelReplay job={job} />}</For>
        </div>
      </div>
      <div className="grid gap-1">
        <Progress job={job} />
        <p className="figures text-muted">{progressText(job)}</p>
      </div>
      <div className="grid grid-cols-2 gap-4 md:grid-cols-4">
        <Figure name="Delivered" value={number(job.delivered)} />
        <Figure name="Failed" value={number(job.failed)} />
        <Figure name="In progress" value={number(Math.max(0, job.replayed - job.delivered - job.failed))} />
        <Figure
          name="Items per second"
          value={averageRate(job, now)}
          detail={`${number(job.rate_per_second)} at most`}
        />
      </div>
      <Card>
        <Facts
          facts={[
            ["Filter", filterText(job.filter, targets.data, zone)],
            ["Skipped", skippedText(job)],
            ["Started by", job.created_by],
            ["Started", <Moment key="at" at={job.created_at} />],
            ...(job.finished_at === null
              ? []
              : [["Ended", <Moment key="end" at={job.finished_at} />] as const]),
          ]}
        />
      </Card>
      {job.failed > 0 && (
        <div>
          <Link to="/items" search={{ replay: job.id, status: "FAILED" }} className="text-accent underline">
            Show failed items
          </Link>
        </div>
      )}
    </div>
  );
}

function CancelReplay({ job }: { job: ReplayJob }) {
  const queries = useQueryClient();
  const cancel = useMutation({
    mutationFn: () => cancelReplay(job.id),
    onSettled: () => void queries.invalidateQueries({ queryKey: ["replays"] }),
  });
  return (
    <ConfirmButton text="Cancel…" title="Cancel this replay?" action="Cancel the replay" doing={cancel}>
      <p>Items that were already replayed are still delivered; the others are not replayed.</p>
    </ConfirmButton>
  );
}
