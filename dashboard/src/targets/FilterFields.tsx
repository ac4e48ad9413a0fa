import { useMutation } from "@tanstack/react-query";
import { useState } from "react";
import { answer, client } from "../api/client.ts";
import type { FilterResult } from "../api/shapes.ts";
import { Button } from "../controls/Button.tsx";
import { CodeArea, TextField } from "../controls/Field.tsx";
import { metadataOf } from "../customers/metadataText.ts";
import { jsonProblem } from "../eventTypes/jsonText.ts";
import { ProblemCard } from "../states/ProblemCard.tsx";
import { filterProblem } from "./filterText.ts";

interface FilterFieldsProps {
  value: string;
  /** The service's error about the filter. */
  error?: string | undefined;
  onChange: (value: string) => void;
}

/** The field for a target's filter, and a form that tries the filter on a sample. */
export function FilterFields({ value, error, onChange }: FilterFieldsProps) {
  const isTryable = value.trim() !== "" && filterProblem(value) === undefined;
  return (
    <>
      <CodeArea
        label="Filter"
        value={value}
        error={filterProblem(value) ?? error}
        placeholder='{"payload": {"amount": [{"numeric": [">=", 100]}]}}'
        hint="Pattern over payload and metadata, in EventBridge's grammar; only matching items are sent; empty: all"
        onChange={(event) => onChange(event.target.value)}
      />
      {isTryable && <TryFilter filter={metadataOf(value)} />}
    </>
  );
}

/** Tries the filter that is in the form, saved or not, on a sample. */
function TryFilter({ filter }: { filter: Record<string, unknown> }) {
  const [sample, setSample] = useState("");
  const [eventType, setEventType] = useState("");
  const wrong = jsonProblem(sample, { words: 'Invalid JSON: enter a sample such as {"amount": 80}' });
  const asked = JSON.stringify({ filter, sample, eventType });
  const trial = useMutation({
    mutationFn: (_asked: string) =>
      answer(
        client.POST("/api/v1/filters/try", {
          body: {
            filter,
            payload: JSON.parse(sample) as unknown,
            ...(eventType !== "" && { event_type: eventType }),
          },
        }),
      ),
  });
  // A verdict is hidden once the filter or the sample has changed.
  const isOfThis = trial.variables === asked && !trial.isPending;
  return (
    <details>
      <summary className="font-medium">Try the filter on a sample</summary>
      <div className="mt-3 grid gap-3">
        <CodeArea
          label="Sample payload"
          value={sample}
          error={wrong}
          hint="JSON, as it would be posted"
          onChange={(event) => setSample(event.target.value)}
        />
        <TextField
          label="Event type of the sample"
          value={eventType}
          maxLength={256}
          autoComplete="off"
          spellCheck={false}
          hint="If the payload has none"
          onChange={(event) => setEventType(event.target.value)}
        />
        <div>
          <Button
            busy={trial.isPending}
            disabled={sample.trim() === "" || wrong !== undefined}
            onClick={() => trial.mutate(asked)}
          >
            Try it
          </Button>
        </div>
        <div role="status">{trial.data !== undefined && isOfThis && <Result {...trial.data} />}</div>
        {trial.isError && isOfThis && <ProblemCard error={trial.error} />}
      </div>
    </details>
  );
}

const verdicts = {
  matches: "It matches: the item would be sent.",
  differs: "It differs: the item would be FILTERED.",
  undecided: "The sample is too large for this filter: such an item is let through.",
};

function Result({ verdict, failed }: FilterResult) {
  return (
    <>
      <p className="font-medium">{verdicts[verdict]}</p>
      <ul className="mt-1 grid gap-1">
        {failed.map(({ path, expected, found }) => (
          <li key={path} className="text-meta wrap-anywhere">
            <code>{path}</code> asks for <code>{JSON.stringify(expected)}</code>,{" "}
            {found.length === 0 ? (
              "and nothing like it is there"
            ) : (
              <>
                and <code>{found.map((value) => JSON.stringify(value)).join(", ")}</code> is there
              </>
            )}
          </li>
        ))}
      </ul>
    </>
  );
}
