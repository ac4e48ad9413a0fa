import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { useState } from "react";
import { isOffered } from "../api/offered.ts";
import { Button, buttonLook } from "../controls/Button.tsx";
import { Card, Facts } from "../controls/Card.tsx";
import { Confirm } from "../controls/Confirm.tsx";
import { Id } from "../controls/Copy.tsx";
import { useRefreshMs } from "../live/liveState.ts";
import { useUrlState } from "../shell/useUrlState.ts";
import { Empty } from "../states/Empty.tsx";
import { Loaded } from "../states/Loaded.tsx";
import { ProblemCard } from "../states/ProblemCard.tsx";
import { Moment } from "../time/Moment.tsx";
import { cancelReplay, listReplays, type ReplayJob } from "./replayJobs.ts";

/** Replays of many items: how far each is, and what came of it. */
export function ReplaysPage() {
  const [search] = useUrlState();
  const query = useQuery({
    queryKey: ["replays", "list"],
    queryFn: listReplays,
    enabled: isOffered("/api/v1/replays"),
    refetchInterval: useRefreshMs(2000, 2000),
  });
  return (
    <div className="grid gap-4">
      <h1 className="text-page font-semibold">Replays</h1>
      {!isOffered("/api/v1/replays") ? (
        <NoReplays />
      ) : (
        <Loaded query={query}>
          {(jobs) =>
            jobs.length === 0 ? (
              <NoReplays />
            ) : (
              <ul className="grid gap-3">
                {jobs.map((job) => (
                  <li key={job.id}>
                    <Job job={job} isMarked={job.id === search["open"]} />
                  </li>
                ))}
              </ul>
            )
          }
        </Loaded>
      )}
    </div>
  );
}

function NoReplays() {
  return (
    <div className="rounded-card border bg-surface">
      <Empty
        title="No replays yet"
        action={
          <Link to="/items" search={{ status: "FAILED" }} className={buttonLook("primary")}>
            Find failed items
          </Link>
        }
      >
        Filter the items, select all that match, and replay them as one job. Single replays show up beside
        their item.
      </Empty>
    </div>
  );
}

const stateNames = { RUNNING: "Running", DONE: "Done", CANCELED: "Canceled" };

function Job({ job, isMarked }: { job: ReplayJob; isMarked: boolean }) {
  const done = job.delivered + job.failed;
  const total = job.total ?? job.replayed;
  return (
    <div className={isMarked ? "rounded-card outline-2 outline-accent" : ""}>
      <Card title={<span>{stateNames[job.status]}</span>} aside={<JobActions job={job} />}>
        <div className="grid gap-3">
          <progress
            className="h-2 w-full accent-accent"
            value={job.replayed}
            max={Math.max(1, total)}
            aria-label={`${job.replayed} of ${total} replayed`}
          />
          <p className="figures">
            {job.replayed.toLocaleString("en")} of {total.toLocaleString("en")} replayed,{" "}
            {job.delivered.toLocaleString("en")} delivered, {job.failed.toLocaleString("en")} failed,{" "}
            {(job.replayed - done).toLocaleString("en")} under way
          </p>
          <Facts
            facts={[
              ["Id", <Id key="id" id={job.id} />],
              ["Matches", filterText(job.filter)],
              [
                "Rate",
                job.rate_per_second === null ? "as fast as it goes" : `${job.rate_per_second} a second`,
              ],
              ["Started", <Moment key="at" at={job.created_at} />],
              ["By", job.created_by ?? "–"],
            ]}
          />
        </div>
      </Card>
    </div>
  );
}

function filterText(filter: ReplayJob["filter"]): string {
  const parts = Object.entries(filter).map(([key, value]) => `${key}: ${value}`);
  return parts.length === 0 ? "every item" : parts.join(", ");
}

function JobActions({ job }: { job: ReplayJob }) {
  const [asks, setAsks] = useState(false);
  const queries = useQueryClient();
  const cancel = useMutation({
    mutationFn: () => cancelReplay(job.id),
    onSuccess: () => {
      setAsks(false);
      void queries.invalidateQueries({ queryKey: ["replays"] });
    },
  });
  return (
    <div className="flex gap-2">
      <Link
        to="/items"
        search={{ time: `${job.created_at}-${(job.finished_at ?? job.created_at + 86_400) + 1}` }}
        className={buttonLook()}
      >
        Its items
      </Link>
      {job.status === "RUNNING" && (
        <Button look="danger" onClick={() => setAsks(true)}>
          Cancel…
        </Button>
      )}
      <Confirm
        title="Cancel this replay?"
        open={asks}
        onClose={() => setAsks(false)}
        action="Cancel the replay"
        busy={cancel.isPending}
        onConfirm={() => cancel.mutate()}
        error={cancel.isError && <ProblemCard error={cancel.error} />}
      >
        <p>What was replayed already is still delivered; the rest is not replayed.</p>
      </Confirm>
    </div>
  );
}
