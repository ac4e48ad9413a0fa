import { perSecond } from "../figures.ts";
import { type Bar, type BarChart, barChart, type Panel } from "./barChart.ts";
import { type FiguresRecord, type MatrixFigure, type Measure, measures, payloadSizes } from "./record.ts";
import { bytesOf, bareNames, countOf, msOf, rateOf, ratioOf, storedOf, targetsOf, titles } from "./words.ts";

/** Every chart by the name of its file, without `.svg`. */
export function chartsOf(record: FiguresRecord): Record<string, string> {
  const charts: Record<string, BarChart> = {
    ...Object.fromEntries(measures.map((measure) => [measure, matrixChart(record, measure)])),
    "intake-latency": latencyChart(record),
    "processor-time": processorChart(record),
    neighbours: neighboursChart(record),
    publications: publicationsChart(record),
    besides: besidesChart(record),
  };
  return Object.fromEntries(Object.entries(charts).map(([name, chart]) => [name, barChart(chart)]));
}

function matrixChart(record: FiguresRecord, measure: Measure): BarChart {
  return {
    title: titles[measure],
    keys: storedKeys(record),
    panels: panelsOf(
      record,
      measure,
      (figure) => ({
        label: labelOf(figure),
        parts: [{ value: figure.perSecond, tone: toneOf(figure) }],
        text: `${rateOf(figure)}, ${ratioOf(figure.ratio)}`,
      }),
      record.bares,
    ),
  };
}

function latencyChart(record: FiguresRecord): BarChart {
  return {
    title: "Intake: milliseconds to the 202, with 64 connections that never rest",
    keys: [
      { tone: "first", text: "p50" },
      { tone: "third", text: "p99" },
    ],
    panels: panelsOf(record, "intake", (figure) => {
      const [p50, p99] = [figure.p50Ms ?? 0, figure.p99Ms ?? 0];
      return {
        label: labelOf(figure),
        parts: [
          { value: p50, tone: "first" },
          { value: p99 - p50, tone: "third" },
        ],
        text: `${msOf(p50)}, ${msOf(p99)} ms`,
      };
    }),
  };
}

function processorChart({ matrix }: FiguresRecord): BarChart {
  return {
    title: "Processor time of an item, in µs",
    keys: [
      { tone: "first", text: "Node" },
      { tone: "second", text: "PostgreSQL" },
    ],
    panels: payloadSizes.map((bytes) => ({
      title: bytesOf(bytes),
      bars: measures.flatMap((measure) =>
        matrix
          .filter((one) => one.measure === measure && one.payloadBytes === bytes && one.storedEvents === 0)
          .map(({ targets, nodeUs, postgresUs }) => ({
            label: `${measure}, ${targetsOf(targets)}`,
            parts: [
              { value: nodeUs, tone: "first" as const },
              { value: postgresUs, tone: "second" as const },
            ],
            text: `${msOf(nodeUs)} + ${msOf(postgresUs)}`,
          })),
      ),
    })),
  };
}

function neighboursChart({ neighbours }: FiguresRecord): BarChart {
  const hanging = neighbours[0]?.hangingTargets ?? 0;
  return {
    title: `A healthy target beside ${targetsOf(hanging)} that never answer`,
    keys: [
      { tone: "first", text: "p50, or the rate" },
      { tone: "third", text: "p99" },
    ],
    panels: neighbours.flatMap(({ name, alone, beside }) => {
      const both = [
        { label: "alone", ...alone },
        { label: "beside them", ...beside },
      ];
      return [
        {
          title: `${name}: ms from accepting to the receiver, at 200 items a second`,
          bars: both.map(({ label, p50Ms, p99Ms }) => ({
            label,
            parts: [
              { value: p50Ms, tone: "first" as const },
              { value: p99Ms - p50Ms, tone: "third" as const },
            ],
            text: `${msOf(p50Ms)}, ${msOf(p99Ms)} ms`,
          })),
        },
        {
          title: `${name}: delivered a second, saturated`,
          bars: both.map(({ label, deliveredPerSecond: value }) => rateBar(label, value)),
        },
      ];
    }),
  };
}

function publicationsChart({ publications }: FiguresRecord): BarChart {
  return {
    title: "Publications: items accepted a second, 64 requests at once",
    keys: [],
    panels: publications.map(({ targets, payloadBytes, published, posted }) => ({
      title: `${targetsOf(targets)}, ${bytesOf(payloadBytes)}`,
      bars: [rateBar("by publications", published.perSecond), rateBar("each posted alone", posted.perSecond)],
    })),
  };
}

function besidesChart({ besides }: FiguresRecord): BarChart {
  return {
    title: "In and out: items a second beside those who watch",
    keys: [],
    panels: besides.map(({ name, without, beside }) => ({
      title: name,
      bars: [rateBar("without", without), rateBar("beside it", beside)],
    })),
  };
}

function rateBar(label: string, value: number): Bar {
  return { label, parts: [{ value, tone: "first" }], text: perSecond(value) };
}

function panelsOf(
  { matrix }: FiguresRecord,
  measure: Measure,
  bar: (figure: MatrixFigure) => Bar,
  bares: FiguresRecord["bares"] = [],
): Panel[] {
  return payloadSizes.map((bytes) => {
    const isOfPanel = (one: Pick<MatrixFigure, "measure" | "payloadBytes">): boolean =>
      one.measure === measure && one.payloadBytes === bytes;
    const figures = matrix.filter(isOfPanel).toSorted((one, other) => one.targets - other.targets);
    const panel: Panel = { title: bytesOf(bytes), bars: figures.map(bar) };
    const bare = bares.find(isOfPanel)?.perSecond;
    if (bare !== undefined)
      panel.mark = { value: bare, text: `dashed: ${bareNames[measure]}, ${perSecond(bare)}` };
    return panel;
  });
}

function labelOf({ targets, storedEvents }: MatrixFigure): string {
  return `${targetsOf(targets)}, ${storedOf(storedEvents)}`;
}

function toneOf({ storedEvents }: MatrixFigure): "first" | "second" {
  return storedEvents === 0 ? "first" : "second";
}

function storedKeys({ size }: FiguresRecord): BarChart["keys"] {
  return [
    { tone: "first", text: "no event stored before" },
    { tone: "second", text: `${countOf(size.storedEvents)} events stored` },
  ];
}
