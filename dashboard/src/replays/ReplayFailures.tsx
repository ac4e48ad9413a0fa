import { useState } from "react";
import { Button } from "../controls/Button.tsx";
import { SelectField } from "../controls/Field.tsx";
import { StartReplay } from "./StartReplay.tsx";

const spans = {
  "1h": "the last hour",
  "24h": "the last 24 hours",
  "7d": "the last 7 days",
  "30d": "the last 30 days",
};

/** Replays the items of one target that failed in a chosen time span. */
export function ReplayFailures({ targetId }: { targetId: string }) {
  const [asks, setAsks] = useState(false);
  const [since, setSince] = useState<string>("24h");
  return (
    <>
      <Button onClick={() => setAsks(true)}>Replay failures…</Button>
      {asks && (
        <StartReplay
          title="Replay failed items"
          filter={{ target: targetId, status: "FAILED", time: since }}
          onClose={() => setAsks(false)}
        >
          <SelectField label="Accepted in" value={since} onChange={(event) => setSince(event.target.value)}>
            {Object.entries(spans).map(([value, name]) => (
              <option key={value} value={value}>
                {name}
              </option>
            ))}
          </SelectField>
        </StartReplay>
      )}
    </>
  );
}
