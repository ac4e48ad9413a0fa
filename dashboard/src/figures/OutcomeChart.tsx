import { useEffect, useRef, useState } from "react";
import uPlot from "uplot";
import "uplot/dist/uPlot.min.css";
import { useTheme } from "../shell/theme.ts";
import { type TimeZone, useTimeZone } from "../time/timeZone.ts";
import { milliseconds, shortTime, tickName } from "../time/wording.ts";
import { chartColumns } from "./chartData.ts";
import type { Stats } from "../api/shapes.ts";

const height = 160;

export interface OutcomeChartProps {
  stats: Stats;
  /** Called with the range that the user dragged over, in Unix seconds. */
  onRange?: (from: number, to: number) => void;
}

/** Outcomes as stacked bars with the 95th percentile of latency as a line, and the same figures as a table. */
export function OutcomeChart({ stats, onRange }: OutcomeChartProps) {
  const frame = useRef<HTMLDivElement>(null);
  const theme = useTheme();
  const zone = useTimeZone();
  const onRangeNow = useRef(onRange);
  const plotted = useRef<uPlot>(undefined);
  const [hovered, setHovered] = useState<number | null>(null);
  const { step } = stats;
  useEffect(() => {
    onRangeNow.current = onRange;
  });
  useEffect(() => {
    const element = frame.current;
    if (element === null) return undefined;
    const plot = new uPlot(
      {
        ...options(element.clientWidth, step, zone),
        // uPlot draws the local fields of a date: for a UTC axis it needs a date whose local fields show UTC.
        ...(zone === "UTC" && { tzDate: (at: number) => uPlot.tzDate(new Date(at * 1000), "Etc/UTC") }),
        hooks: {
          setSelect: [(chart) => tellRange(chart, step, onRangeNow.current)],
          setCursor: [(chart) => setHovered(hoveredTime(chart))],
        },
      },
      undefined,
      element,
    );
    plotted.current = plot;
    const watcher = new ResizeObserver(() => plot.setSize({ width: element.clientWidth, height }));
    watcher.observe(element);
    return () => {
      watcher.disconnect();
      plot.destroy();
    };
  }, [step, theme, zone]);
  // New figures are set in the existing chart.
  useEffect(() => {
    const { at, failed, retried, delivered, p95 } = chartColumns(stats);
    plotted.current?.setData([at, failed, retried, delivered, p95]);
  }, [stats, theme, zone]);
  return (
    <div className="grid min-w-0 gap-2">
      <div ref={frame} className="min-w-0 overflow-hidden" style={{ height }} aria-hidden />
      {hovered === null ? <Legend /> : <HoveredStep stats={stats} at={hovered} />}
      <FiguresTable stats={stats} />
    </div>
  );
}

/** The start of the step under the pointer, in Unix seconds; null without one. */
function hoveredTime({ cursor, data }: uPlot): number | null {
  return typeof cursor.idx === "number" && (cursor.left ?? -1) >= 0 ? (data[0][cursor.idx] ?? null) : null;
}

/** The figures of one step. They replace the legend, so that the layout does not move. */
function HoveredStep({ stats, at }: { stats: Stats; at: number }) {
  const zone = useTimeZone();
  const point = stats.points.find((one) => one.at === at);
  const p95 = point?.latency_ms?.p95;
  return (
    <p className="figures flex flex-wrap gap-x-4 text-meta">
      <span className="text-muted">{shortTime(at, zone)}</span>
      {point === undefined ? (
        <span className="text-muted">no activity</span>
      ) : (
        <>
          <span>{point.delivered.toLocaleString("en")} delivered</span>
          <span>{point.retried.toLocaleString("en")} retried</span>
          <span>{point.failed.toLocaleString("en")} failed</span>
          <span>p95 {p95 === undefined ? "–" : milliseconds(p95)}</span>
        </>
      )}
    </p>
  );
}

/** `1.5M`: the label of a count has little room. */
const short = new Intl.NumberFormat("en", { notation: "compact", maximumFractionDigits: 2 });

/** Indexes of values without a neighbour. They are drawn as points, because no line reaches them. */
function lonePoints({ data }: uPlot, series: number): number[] {
  const values = data[series]!;
  const isThere = (index: number): boolean => typeof values[index] === "number";
  return Array.from(values, (_, index) => index).filter(
    (index) => isThere(index) && !isThere(index - 1) && !isThere(index + 1),
  );
}

function tellRange(chart: uPlot, step: number, onRange: OutcomeChartProps["onRange"]): void {
  const { left, width } = chart.select;
  if (width < 4) return;
  const from = Math.floor(chart.posToVal(left, "x") / step) * step;
  const to = Math.ceil(chart.posToVal(left + width, "x") / step) * step;
  onRange?.(from, Math.max(to, from + step));
}

function options(width: number, step: number, zone: TimeZone): Omit<uPlot.Options, "hooks"> {
  const color = (name: string): string =>
    getComputedStyle(document.documentElement).getPropertyValue(name).trim();
  const bars = uPlot.paths.bars!({ size: [0.8, 24], align: 1 });
  const bar = (name: string): uPlot.Series => ({
    paths: bars,
    fill: color(name),
    width: 0,
    points: { show: false },
  });
  const axis = {
    stroke: color("--muted"),
    grid: { stroke: color("--border"), width: 1 },
    ticks: { show: false },
    font: "12px Inter Variable",
  };
  return {
    width,
    height,
    legend: { show: false },
    cursor: { y: false, drag: { x: true, y: false, setScale: false } },
    scales: {
      x: { time: true, range: (_chart, min, max) => [min, max + step] },
      y: { range: (_chart, _min, max) => [0, Math.max(1, max * 1.1)] },
      ms: { range: (_chart, _min, max) => [0, Math.max(1, max * 1.1)] },
    },
    axes: [
      { ...axis, size: 28, values: (_chart, ticks) => ticks.map((tick) => tickName(tick, step, zone)) },
      { ...axis, size: 48, values: (_chart, ticks) => ticks.map((tick) => short.format(tick)) },
      {
        ...axis,
        scale: "ms",
        side: 1,
        size: 64,
        grid: { show: false },
        // No labels when nothing was delivered.
        values: ({ data }, ticks) =>
          ticks.map((tick) =>
            data[4]?.some((ms) => typeof ms === "number") === true ? `${tick.toLocaleString("en")} ms` : "",
          ),
      },
    ],
    series: [
      {},
      bar("--failed"),
      bar("--retrying"),
      bar("--delivered"),
      {
        scale: "ms",
        stroke: color("--accent"),
        width: 1.5,
        points: { show: true, size: 5, fill: color("--accent"), filter: lonePoints },
        spanGaps: false,
      },
    ],
  };
}

const legend = {
  Delivered: "size-2 rounded-pill bg-delivered",
  Retried: "size-2 rounded-pill bg-retrying",
  Failed: "size-2 rounded-pill bg-failed",
  "p95 latency": "h-0.5 w-3 bg-accent align-middle",
};

function Legend() {
  return (
    <p className="flex flex-wrap gap-x-4 text-meta text-muted">
      {Object.entries(legend).map(([name, look]) => (
        <span key={name}>
          <span className={`mr-1 inline-block ${look}`} aria-hidden />
          {name}
        </span>
      ))}
    </p>
  );
}

function FiguresTable({ stats }: { stats: Stats }) {
  const zone = useTimeZone();
  const names = ["From", "Accepted", "Delivered", "Retried", "Failed", "p95 ms"];
  return (
    <details>
      <summary className="text-meta text-muted">Show as a table</summary>
      <div className="mt-2 max-h-80 overflow-auto" tabIndex={0} role="group" aria-label="Figures">
        <table className="figures w-full text-right">
          <thead className="sticky top-0 bg-surface text-meta text-muted">
            <tr>
              {names.map((name) => (
                <th key={name} scope="col" className="px-2 py-1 font-medium first:text-left">
                  {name}
                </th>
              ))}
            </tr>
          </thead>
          <tbody>
            {stats.points.map((point) => (
              <tr key={point.at} className="border-t">
                <th scope="row" className="px-2 py-1 text-left font-normal">
                  {shortTime(point.at, zone)}
                </th>
                {[
                  point.accepted,
                  point.delivered,
                  point.retried,
                  point.failed,
                  point.latency_ms?.p95 ?? "–",
                ].map((value, index) => (
                  <td key={index} className="px-2 py-1">
                    {value.toLocaleString("en")}
                  </td>
                ))}
              </tr>
            ))}
          </tbody>
        </table>
      </div>
    </details>
  );
}
