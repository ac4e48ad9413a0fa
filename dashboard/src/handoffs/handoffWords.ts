import type { HandoffSummary } from "../api/shapes.ts";

/** The name of a handoff's state. */
export function stateName({ state, outcome, task_id: taskId }: HandoffSummary): string {
  if (outcome !== null) return outcomeNames[outcome] ?? outcome;
  if (state === null) return taskId === null ? "Waiting for the agent" : "Handed over";
  return stateNames[state] ?? state.replaceAll("_", " ").toLowerCase();
}

const stateNames: Record<string, string> = {
  SUBMITTED: "Submitted",
  WORKING: "Working",
  INPUT_REQUIRED: "Input required",
  AUTH_REQUIRED: "Authorization required",
};

const outcomeNames: Record<string, string> = {
  COMPLETED: "Completed",
  FAILED: "Failed",
  CANCELED: "Canceled",
  REJECTED: "Rejected by the agent",
  UNKNOWN: "Outcome unknown",
};

/** States that handoffs can be filtered by, with their names. A task whose outcome is UNKNOWN keeps its last state. */
export const handoffStates: readonly (readonly [state: string, name: string])[] = [
  ...Object.entries(stateNames),
  ...Object.entries(outcomeNames).filter(([outcome]) => outcome !== "UNKNOWN"),
];

export function isWaitingForInput({ state, outcome }: HandoffSummary): boolean {
  return outcome === null && (state === "INPUT_REQUIRED" || state === "AUTH_REQUIRED");
}

/** A message part (A2A 1.0, section 4.1.6) as text. */
export function partText(part: unknown): string {
  const text = (part as { text?: unknown } | null)?.text;
  return typeof text === "string" ? text : JSON.stringify(part, undefined, 2);
}

export function artifactText(artifact: unknown): string {
  const { name, parts } = (artifact ?? {}) as { name?: unknown; parts?: unknown };
  if (!Array.isArray(parts)) return JSON.stringify(artifact, undefined, 2);
  const title = typeof name === "string" ? `${name}\n\n` : "";
  return title + parts.map(partText).join("\n");
}
