import type { startBrowser, WatchedPage } from "../../../dashboard/test/support/browser.ts";

export type Page = WatchedPage["page"];
export type Browser = Awaited<ReturnType<typeof startBrowser>>;

/** The intervals between a page's frames. All in milliseconds. */
export interface Smoothness {
  frames: number;
  /** Percentiles of the time from one frame to the next. */
  p50: number;
  p95: number;
  p99: number;
  worst: number;
  /** Tasks that blocked the page's thread for 50 ms or longer, as the browser counts them. */
  longTasks: number[];
}

/** Watches the page's frames during `work`. */
export async function watchFrames(page: Page, work: () => Promise<unknown>): Promise<Smoothness> {
  await page.evaluate(startWatching);
  await work();
  const { gaps, tasks } = (await page.evaluate("window.endWatching()")) as {
    gaps: number[];
    tasks: number[];
  };
  const sorted = gaps.toSorted((one, other) => one - other);
  const at = (share: number): number => sorted[Math.floor((sorted.length - 1) * share)] ?? 0;
  return {
    frames: sorted.length,
    p50: at(0.5),
    p95: at(0.95),
    p99: at(0.99),
    worst: sorted.at(-1) ?? 0,
    longTasks: tasks,
  };
}

/** `p50 / p95 / p99 / worst`, and the long tasks. */
export function told({ p50, p95, p99, worst, longTasks }: Smoothness): string {
  const longest = Math.max(0, ...longTasks);
  return `${[p50, p95, p99, worst].map((ms) => ms.toFixed(0)).join(" / ")} ms; ${longTasks.length} long tasks, longest ${longest.toFixed(0)} ms`;
}

/** Script that runs in the page. */
const startWatching = `(() => {
  const gaps = [];
  const tasks = [];
  const observer = new PerformanceObserver((list) => {
    for (const { duration } of list.getEntries()) tasks.push(duration);
  });
  observer.observe({ type: "longtask" });
  let isOver = false;
  let last;
  requestAnimationFrame(function step(now) {
    if (last !== undefined) gaps.push(now - last);
    last = now;
    if (!isOver) requestAnimationFrame(step);
  });
  window.endWatching = () => {
    isOver = true;
    observer.disconnect();
    return { gaps, tasks };
  };
})()`;
