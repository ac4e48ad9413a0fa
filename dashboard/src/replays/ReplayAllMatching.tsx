import { useState } from "react";
import { Button } from "../controls/Button.tsx";
import type { ItemFilter } from "../items/filter.ts";
import { refusalOf } from "./replayJobs.ts";
import { StartReplay } from "./StartReplay.tsx";

/** The second step of a selection: replays all items that match the filter, shown or not, as one job. */
export function ReplayAllMatching({ filter }: { filter: ItemFilter }) {
  const [asks, setAsks] = useState(false);
  const refusal = refusalOf(filter);
  return (
    <>
      <Button onClick={() => setAsks(true)} disabled={refusal !== undefined} title={refusal}>
        Replay all that match…
      </Button>
      {asks && <StartReplay title="Replay all that match?" filter={filter} onClose={() => setAsks(false)} />}
    </>
  );
}
