import { Circle, Play, RefreshCw, WifiOff } from "lucide-react";
import { type LiveState, togglePause, useLiveState } from "../live/liveState.ts";

const meanings: Record<LiveState, string> = {
  Live: "Updates appear live. Click, or press p, to pause.",
  Paused: "Updates are paused. Click, or press p, to resume.",
  Reconnecting: "The connection was lost; reconnecting. Click, or press p, to pause.",
  Polling: "The page refreshes every few seconds. Click, or press p, to pause.",
};

/** Shows how the page learns of changes; a click pauses the page or resumes it. */
export function LiveBadge() {
  const state = useLiveState();
  return (
    <button
      type="button"
      onClick={togglePause}
      title={meanings[state]}
      aria-label={`${state}. ${meanings[state]}`}
      className="inline-flex h-8 items-center gap-1.5 rounded-control border border-control px-2.5 font-medium hover:bg-sunken"
    >
      <StateIcon state={state} />
      <span className="max-md:sr-only">{state}</span>
    </button>
  );
}

function StateIcon({ state }: { state: LiveState }) {
  switch (state) {
    case "Live":
      return <Circle size={10} className="fill-delivered text-delivered" aria-hidden />;
    case "Paused":
      return <Play size={14} aria-hidden />;
    case "Reconnecting":
      return <WifiOff size={14} className="text-retrying" aria-hidden />;
    case "Polling":
      return <RefreshCw size={14} aria-hidden />;
  }
}
