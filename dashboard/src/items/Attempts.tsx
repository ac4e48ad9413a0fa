import { Check, X } from "lucide-react";
import type { Attempt } from "../api/shapes.ts";
import { TextBlock } from "../controls/Copy.tsx";
import { Moment } from "../time/Moment.tsx";
import { milliseconds } from "../time/wording.ts";

/** All attempts in order, with the receiver's responses. */
export function Attempts({ attempts }: { attempts: readonly Attempt[] }) {
  if (attempts.length === 0) return <p className="text-muted">No attempt yet.</p>;
  return (
    <ol className="grid gap-3">
      {attempts.map((attempt, index) => (
        <li key={attempt.id} className="grid grid-cols-[20px_minmax(0,1fr)] gap-2">
          <AttemptIcon attempt={attempt} />
          <div className="grid min-w-0 gap-1">
            <p className="flex flex-wrap gap-x-2">
              <span className="font-medium">Attempt {index + 1}</span>
              <span className="figures">{attempt.status_code === 0 ? "no answer" : attempt.status_code}</span>
              <span className="figures text-muted">{milliseconds(attempt.duration_ms)}</span>
              <span className="text-muted">
                <Moment at={attempt.attempted_at} />
              </span>
            </p>
            {attempt.error !== null && <p className="wrap-anywhere text-failed">{attempt.error}</p>}
            {attempt.response_body !== null && attempt.response_body !== "" && (
              <Answer text={attempt.response_body} />
            )}
          </div>
        </li>
      ))}
    </ol>
  );
}

function AttemptIcon({ attempt }: { attempt: Attempt }) {
  const isGood = attempt.status_code >= 200 && attempt.status_code < 300;
  const look = isGood ? "bg-delivered-bg text-delivered" : "bg-failed-bg text-failed";
  const Icon = isGood ? Check : X;
  return (
    <span className={`mt-0.5 inline-flex size-5 items-center justify-center rounded-pill ${look}`}>
      <Icon size={12} aria-label={isGood ? "Delivered" : "Failed"} />
    </span>
  );
}

/** The first KiB of the response, shown as text whatever its content type. */
function Answer({ text }: { text: string }) {
  return (
    <details open={text.length < 200}>
      <summary className="text-meta text-muted">Answer (first KiB)</summary>
      <TextBlock name="Answer" text={text} className="mt-1 max-h-40" />
    </details>
  );
}
