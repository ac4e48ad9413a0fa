import { type Output, plain } from "../output.ts";
import type { Forwarded, Outcome } from "./forward.ts";

/** Prints a line with the local server's answer. */
export function showForwarded(
  out: Output,
  { id, event_type }: Pick<Forwarded, "id" | "event_type">,
  outcome: Outcome,
): void {
  const at = new Date();
  const isGood = outcome.kind === "answered" && outcome.status >= 200 && outcome.status <= 299;
  const what = outcome.kind === "answered" ? String(outcome.status) : plain(outcome.reason);
  out.line(
    {
      at: Math.floor(at.getTime() / 1000),
      id,
      event_type,
      status_code: outcome.kind === "answered" ? outcome.status : 0,
      error: outcome.kind === "answered" ? null : outcome.reason,
      duration_ms: outcome.durationMs,
      acknowledged: isGood,
    },
    [
      at.toTimeString().slice(0, 8),
      id,
      plain(event_type ?? ""),
      out.paint(isGood ? "green" : "red", what),
      out.paint("dim", `${outcome.durationMs} ms`),
    ].join("  "),
  );
}
