import { Check, CircleHelp, Clock, type LucideIcon, MessageCircle, Minus, X } from "lucide-react";
import type { HandoffSummary, Status } from "../api/shapes.ts";
import { Pill, StatusPill } from "../items/StatusPill.tsx";
import { stateName } from "./handoffWords.ts";

type Look = readonly [icon: LucideIcon, classes: string];

/**
 * The status of an agent's item. After the handover it is the state of the agent's task, because DELIVERED says nothing about
 * the agent's progress.
 */
export function HandoffPill({ status, handoff }: { status: Status; handoff: HandoffSummary | null }) {
  if (handoff === null || status !== "DELIVERED") return <StatusPill status={status} />;
  const [icon, look] = lookOf(handoff);
  return (
    <Pill icon={icon} look={look} meaning="The state of the agent's task">
      {stateName(handoff)}
    </Pill>
  );
}

const ended: Look = [X, "text-failed bg-failed-bg"];
const asks: Look = [MessageCircle, "text-claimed bg-claimed-bg"];

/** Keyed by outcome, or by state while there is no outcome. */
const looks: Partial<Record<string, Look>> = {
  COMPLETED: [Check, "text-delivered bg-delivered-bg"],
  FAILED: ended,
  REJECTED: ended,
  CANCELED: [Minus, "text-ended bg-ended-bg"],
  UNKNOWN: [CircleHelp, "text-retrying bg-retrying-bg"],
  INPUT_REQUIRED: asks,
  AUTH_REQUIRED: asks,
};

function lookOf({ outcome, state }: HandoffSummary): Look {
  return looks[outcome ?? state ?? ""] ?? [Clock, "text-waiting bg-waiting-bg"];
}
