import { lazy, Suspense } from "react";
import type { OutcomeChartProps } from "./OutcomeChart.tsx";

const Chart = lazy(async () => ({ default: (await import("./OutcomeChart.tsx")).OutcomeChart }));

/** The chart, whose library is loaded only where one is shown. */
export function OutcomeChart(props: OutcomeChartProps) {
  return (
    <Suspense fallback={<div className="skeleton h-40" />}>
      <Chart {...props} />
    </Suspense>
  );
}
