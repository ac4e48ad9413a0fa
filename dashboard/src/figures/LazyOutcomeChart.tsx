import { lazy, Suspense } from "react";
import type { OutcomeChartProps } from "./OutcomeChart.tsx";

const Chart = lazy(async () => {
  mendLanguage();
  return { default: (await import("./OutcomeChart.tsx")).OutcomeChart };
});

/**
 * uPlot uses the browser's language when it is loaded, and throws if that is not a valid language tag, such as `en-US@posix`.
 */
function mendLanguage(): void {
  try {
    void new Intl.NumberFormat(navigator.language);
  } catch {
    Object.defineProperty(navigator, "language", { value: "en", configurable: true });
  }
}

/** The chart. Its library is loaded when the first chart is shown. */
export function OutcomeChart(props: OutcomeChartProps) {
  return (
    <Suspense fallback={<div className="skeleton h-40" />}>
      <Chart {...props} />
    </Suspense>
  );
}
