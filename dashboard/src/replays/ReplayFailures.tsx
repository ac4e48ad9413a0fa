import { useMutation, useQuery } from "@tanstack/react-query";
import { useNavigate } from "@tanstack/react-router";
import { useState } from "react";
import { Button } from "../controls/Button.tsx";
import { Confirm } from "../controls/Confirm.tsx";
import { SelectField } from "../controls/Field.tsx";
import { eventsQuery } from "../items/filter.ts";
import { ProblemCard } from "../states/ProblemCard.tsx";
import { countMatching, startReplay } from "./replayJobs.ts";

const spans = {
  "1h": "the last hour",
  "24h": "the last 24 hours",
  "7d": "the last 7 days",
  "30d": "the last 30 days",
};

/** Replays what failed at one target since some time. */
export function ReplayFailures({ targetId }: { targetId: string }) {
  const [asks, setAsks] = useState(false);
  return (
    <>
      <Button onClick={() => setAsks(true)}>Replay failures…</Button>
      {asks && <Dialog targetId={targetId} onClose={() => setAsks(false)} />}
    </>
  );
}

function Dialog({ targetId, onClose }: { targetId: string; onClose: () => void }) {
  const [since, setSince] = useState<string>("24h");
  const navigate = useNavigate();
  const filter = () => eventsQuery({ target: targetId, status: "FAILED", time: since }, Date.now());
  const count = useQuery({
    queryKey: ["replays", "count", targetId, since],
    queryFn: () => countMatching(filter()),
    retry: false,
  });
  const start = useMutation({
    mutationFn: () => startReplay(filter()),
    onSuccess: ({ id }) => navigate({ to: "/replays", search: { open: id } }),
  });
  const total = count.data?.count;
  const problem = start.error ?? count.error;
  return (
    <Confirm
      title="Replay what failed"
      open
      onClose={onClose}
      action={total === undefined ? "Replay" : `Replay ${total.toLocaleString("en")}`}
      busy={start.isPending || count.isPending}
      onConfirm={() => (total === undefined || total === 0 ? onClose() : start.mutate())}
      error={problem !== null && <ProblemCard error={problem} />}
    >
      <SelectField label="Failed in" value={since} onChange={(event) => setSince(event.target.value)}>
        {Object.entries(spans).map(([value, name]) => (
          <option key={value} value={value}>
            {name}
          </option>
        ))}
      </SelectField>
      <p>
        {total === undefined
          ? "Counting…"
          : total === 0
            ? "Nothing failed in this time."
            : `${total.toLocaleString("en")}${count.data?.count_is_exact === false ? " or more" : ""} failed items are sent again as new items, at a pace the target can take.`}
      </p>
    </Confirm>
  );
}
