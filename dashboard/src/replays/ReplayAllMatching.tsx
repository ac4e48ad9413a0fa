import { useMutation, useQuery } from "@tanstack/react-query";
import { useNavigate } from "@tanstack/react-router";
import { useState } from "react";
import { Button } from "../controls/Button.tsx";
import { Confirm } from "../controls/Confirm.tsx";
import { eventsQuery, type ItemFilter } from "../items/filter.ts";
import { ProblemCard } from "../states/ProblemCard.tsx";
import { countMatching, startReplay } from "./replayJobs.ts";

/** The second step of a selection: everything that matches the filter, shown or not, replayed as one job. */
export function ReplayAllMatching({ filter }: { filter: ItemFilter }) {
  const [asks, setAsks] = useState(false);
  const navigate = useNavigate();
  const count = useQuery({
    queryKey: ["replays", "count", filter],
    queryFn: () => countMatching(eventsQuery(filter, Date.now())),
    retry: false,
  });
  const start = useMutation({
    mutationFn: () => startReplay(eventsQuery(filter, Date.now())),
    onSuccess: ({ id }) => navigate({ to: "/replays", search: { open: id } }),
  });
  if (count.isError) return <span className="text-failed">The number of matches cannot be read.</span>;
  if (count.data === undefined) return <Button busy>Counting…</Button>;
  const total = `${count.data.count.toLocaleString("en")}${count.data.count_is_exact ? "" : " or more"}`;
  return (
    <>
      <Button onClick={() => setAsks(true)}>Select all {total} that match</Button>
      <Confirm
        title={`Replay all ${total} that match?`}
        open={asks}
        onClose={() => setAsks(false)}
        action={`Replay ${total}`}
        busy={start.isPending}
        onConfirm={() => start.mutate()}
        error={start.isError && <ProblemCard error={start.error} />}
      >
        <p>
          Each becomes a new item with the stored payload. Replays are not billed, and can be canceled while
          they run.
        </p>
      </Confirm>
    </>
  );
}
