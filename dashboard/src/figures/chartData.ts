import type { Stats } from "../api/shapes.ts";

/** Columns for uPlot; null draws a gap, because an unknown figure is not zero. */
export interface ChartColumns {
  at: number[];
  delivered: (number | null)[];
  /** Delivered plus retried; `failed` is the sum of all three. Bars are drawn over each other, the tallest first. */
  retried: (number | null)[];
  failed: (number | null)[];
  p95: (number | null)[];
}

/** One point for each step from `from` to `to`, stacked: delivered at the bottom, failed on top. */
export function chartColumns({ from, to, step, points }: Stats): ChartColumns {
  const byTime = new Map(points.map((point) => [point.at, point]));
  const columns: ChartColumns = { at: [], delivered: [], retried: [], failed: [], p95: [] };
  for (let at = from; at < to; at += step) {
    const point = byTime.get(at);
    columns.at.push(at);
    columns.delivered.push(point?.delivered ?? null);
    columns.retried.push(point === undefined ? null : point.delivered + point.retried);
    columns.failed.push(point === undefined ? null : point.delivered + point.retried + point.failed);
    columns.p95.push(point?.latency_ms?.p95 ?? null);
  }
  return columns;
}
