import type { Stats } from "./stats.ts";

const width = 96;
const height = 24;

/** 24 hours at a glance: bars of what was delivered, with what failed on top. */
export function Sparkline({ stats }: { stats: Stats }) {
  const steps = Math.max(1, Math.round((stats.to - stats.from) / stats.step));
  const top = Math.max(1, ...stats.points.map(({ delivered, failed }) => delivered + failed));
  const each = width / steps;
  const { delivered, failed } = stats.totals;
  return (
    <svg
      viewBox={`0 0 ${width} ${height}`}
      width={width}
      height={height}
      role="img"
      aria-label={`Last 24 hours: ${delivered} delivered, ${failed} failed`}
    >
      {stats.points.map((point) => {
        const x = ((point.at - stats.from) / stats.step) * each;
        const good = (point.delivered / top) * height;
        const bad = (point.failed / top) * height;
        return (
          <g key={point.at}>
            <rect x={x} y={height - good} width={each * 0.8} height={good} className="fill-delivered" />
            <rect x={x} y={height - good - bad} width={each * 0.8} height={bad} className="fill-failed" />
          </g>
        );
      })}
    </svg>
  );
}
