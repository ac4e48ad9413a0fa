import type { ListedHealth } from "../api/shapes.ts";
import { serviceNowMs } from "../time/serviceClock.ts";

const width = 96;
const height = 24;
const hoursShown = 24;
const hourSeconds = 3_600;

/** Bars for the last 24 hours: delivered items, with failed items on top. */
export function Sparkline({ hours }: Pick<ListedHealth, "hours">) {
  const newest = Math.max(
    Math.floor(serviceNowMs() / 1000 / hourSeconds) * hourSeconds,
    ...hours.map(({ at }) => at),
  );
  const oldest = newest - (hoursShown - 1) * hourSeconds;
  const top = Math.max(1, ...hours.map(({ delivered, failed }) => delivered + failed));
  const each = width / hoursShown;
  const sum = (name: "delivered" | "failed"): number => hours.reduce((total, hour) => total + hour[name], 0);
  return (
    <svg
      viewBox={`0 0 ${width} ${height}`}
      width={width}
      height={height}
      role="img"
      aria-label={`Last 24 hours: ${sum("delivered")} delivered, ${sum("failed")} failed`}
    >
      {hours.map((hour) => {
        const x = ((hour.at - oldest) / hourSeconds) * each;
        const good = (hour.delivered / top) * height;
        const bad = (hour.failed / top) * height;
        return (
          <g key={hour.at}>
            <rect x={x} y={height - good} width={each * 0.8} height={good} className="fill-delivered" />
            <rect x={x} y={height - good - bad} width={each * 0.8} height={bad} className="fill-failed" />
          </g>
        );
      })}
    </svg>
  );
}
