import { Check, CircleAlert, CircleSlash, Pause, ZapOff } from "lucide-react";
import type { Health, Target } from "../api/shapes.ts";
import { circuits } from "./health.ts";

/** Whether a target takes deliveries: icon, word and colour. */
export function EnabledPill({
  target,
  circuit,
}: {
  target: Target;
  circuit?: Health["circuit"] | undefined;
}) {
  const { text, look, Icon, title } = stateOf(target, circuit);
  return (
    <span
      title={title}
      className={`inline-flex h-5 items-center gap-1 justify-self-end rounded-pill px-2 text-meta font-medium whitespace-nowrap ${look}`}
    >
      <Icon size={12} aria-hidden />
      {text}
    </span>
  );
}

function stateOf(
  { enabled, disabled_reason: reason, failing_since: since }: Target,
  circuit: Health["circuit"] | undefined,
) {
  if (!enabled && reason !== undefined)
    return { text: "Disabled", look: "bg-failed-bg text-failed", Icon: CircleSlash, title: reason };
  if (!enabled)
    return { text: "Paused", look: "bg-ended-bg text-ended", Icon: Pause, title: "Disabled by a user" };
  if (circuit !== undefined && circuit !== "closed")
    return {
      text: `Circuit ${circuits[circuit].name.toLowerCase()}`,
      look: "bg-retrying-bg text-retrying",
      Icon: ZapOff,
      title: circuits[circuit].meaning,
    };
  if (enabled && since !== undefined)
    return {
      text: "Failing",
      look: "bg-retrying-bg text-retrying",
      Icon: CircleAlert,
      title: "All recent attempts failed",
    };
  return {
    text: "Enabled",
    look: "bg-delivered-bg text-delivered",
    Icon: Check,
    title: "Accepts deliveries",
  };
}
