import { lazy, Suspense } from "react";
import type { OutcomeChartProps } from "./OutcomeChart.tsx";

const Chart = lazy(async () => {
  mendLanguage();
  return { default: (await import("./OutcomeChart.tsx")).OutcomeChart };
});

/** uPlot formats numbers in the browser's language as soon as it is loaded, and throws where that is none, such as `en-US@posix`. */
function mendLanguage(): void {
  try {
    void new Intl.NumberFormat(navigator.language);
  } catch {
    Object.defineProperty(navigator, "language", { value: "en", configurable: true });
  }
}

/** The chart, whose library is loaded only where one is shown. */
export function OutcomeChart(props: OutcomeChartProps) {
  return (
    <Suspense fallback={<div className="skeleton h-40" />}>
      <Chart {...props} />
    </Suspense>
  );
}
