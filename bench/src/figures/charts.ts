import { perSecond } from "../figures.ts";
import { type Chart, renderChart, type Row, type Series } from "./chart.ts";
import { type FiguresRecord, type MatrixFigure, type Measure, measures, payloadSizes } from "./record.ts";
import { bareNames, bytesOf, countOf, msOf, rateOf, ratioOf, storedOf, targetsOf, titles } from "./words.ts";

/** Every chart by the name of its file, without `.svg`. */
export async function chartsOf(record: FiguresRecord): Promise<Record<string, string>> {
  const charts: Record<string, Chart> = {
    ...Object.fromEntries(measures.map((measure) => [measure, matrixChart(record, measure)])),
    "intake-latency": latencyChart(record),
    "processor-time": processorChart(record),
    neighbours: neighboursChart(record),
    publications: publicationsChart(record),
    besides: besidesChart(record),
  };
  const drawn: Record<string, string> = {};
  for (const [name, chart] of Object.entries(charts)) drawn[name] = await renderChart(chart);
  return drawn;
}

const itemsPerSecond = "items per second";
const percentiles: readonly Series[] = [
  { name: "p50", colour: "accent" },
  { name: "p99", colour: "amber" },
];

function matrixChart(record: FiguresRecord, measure: Measure): Chart {
  const [empty, filled] = storedSeries(record);
  return {
    title: titles[measure],
    subtitle: `Labels: the rate, and its ratio to ${bareNames[measure]}`,
    series: [empty, filled],
    panels: payloadSizes.map((bytes) => {
      const bare = record.bares.find((one) => isOf(one, measure, bytes))!.perSecond;
      return {
        title: bytesOf(bytes),
        axis: itemsPerSecond,
        kind: "bars",
        rows: figuresOf(record, measure, bytes).map((figure) => ({
          label: targetsOf(figure.targets),
          parts: [{ series: (figure.storedEvents === 0 ? empty : filled).name, value: figure.perSecond }],
          text: `${rateOf(figure)}, ${ratioOf(figure.ratio)}`,
        })),
        mark: { value: bare, text: `${bareNames[measure]}, ${perSecond(bare)}` },
      };
    }),
  };
}

function latencyChart(record: FiguresRecord): Chart {
  return {
    title: "Intake: milliseconds until the 202",
    subtitle: "64 connections, each sending its next item as soon as the last is answered",
    series: percentiles,
    panels: payloadSizes.map((bytes) => ({
      title: bytesOf(bytes),
      axis: "milliseconds",
      kind: "range",
      rows: figuresOf(record, "intake", bytes).map((figure) =>
        rangeRow(
          `${targetsOf(figure.targets)}, ${storedOf(figure.storedEvents)}`,
          figure.p50Ms ?? 0,
          figure.p99Ms ?? 0,
        ),
      ),
    })),
  };
}

function processorChart(record: FiguresRecord): Chart {
  return {
    title: "Processor time per item",
    subtitle: "No events stored before",
    series: [
      { name: "Node", colour: "accent" },
      { name: "PostgreSQL", colour: "amber" },
    ],
    panels: payloadSizes.map((bytes) => ({
      title: bytesOf(bytes),
      axis: "microseconds per item",
      kind: "stack",
      rows: measures.flatMap((measure) =>
        figuresOf(record, measure, bytes)
          .filter(({ storedEvents }) => storedEvents === 0)
          .map(({ targets, nodeUs, postgresUs }) => ({
            label: `${measure}, ${targetsOf(targets)}`,
            parts: [
              { series: "Node", value: nodeUs },
              { series: "PostgreSQL", value: postgresUs },
            ],
            text: `${msOf(nodeUs)} + ${msOf(postgresUs)}`,
          })),
      ),
    })),
  };
}

function neighboursChart({ neighbours }: FiguresRecord): Chart {
  const hanging = targetsOf(neighbours[0]?.hangingTargets ?? 0);
  const sides = neighbours.flatMap(({ name, alone, beside }) => [
    { label: `${name}, without`, ...alone },
    { label: `${name}, with`, ...beside },
  ]);
  return {
    title: `A healthy target with and without ${hanging} that never answer`,
    subtitle: "The healthy target belongs to the same organization as the hanging targets, or to another one",
    series: percentiles,
    panels: [
      {
        title: "Latency at 200 items per second",
        axis: "milliseconds from accepting to the receiver",
        kind: "range",
        rows: sides.map(({ label, p50Ms, p99Ms }) => rangeRow(label, p50Ms, p99Ms)),
      },
      {
        title: "Throughput, saturated",
        axis: "delivered items per second",
        kind: "bars",
        rows: sides.map(({ label, deliveredPerSecond }) => rateRow(label, deliveredPerSecond)),
      },
    ],
  };
}

function publicationsChart({ publications }: FiguresRecord): Chart {
  const [published, posted] = ["in publications", "one by one"] as const;
  return {
    title: "Publications: items accepted per second",
    subtitle: "64 requests at the same time",
    series: [
      { name: published, colour: "accent" },
      { name: posted, colour: "amber" },
    ],
    panels: [
      {
        axis: itemsPerSecond,
        kind: "bars",
        rows: publications.flatMap((one) => {
          const label = `${targetsOf(one.targets)}, ${bytesOf(one.payloadBytes)}`;
          return [
            rateRow(label, one.published.perSecond, published),
            rateRow(label, one.posted.perSecond, posted),
          ];
        }),
      },
    ],
  };
}

function besidesChart({ besides }: FiguresRecord): Chart {
  return {
    title: "In and out, with and without watchers",
    series: [],
    panels: besides.map(({ name, without, beside }) => ({
      title: name,
      axis: itemsPerSecond,
      kind: "bars",
      rows: [rateRow("without", without), rateRow("with", beside)],
    })),
  };
}

function rateRow(label: string, value: number, series?: string): Row {
  return { label, parts: [{ value, ...(series !== undefined && { series }) }], text: perSecond(value) };
}

function rangeRow(label: string, p50: number, p99: number): Row {
  const parts = [
    { series: "p50", value: p50 },
    { series: "p99", value: p99 },
  ];
  return { label, parts, text: `${msOf(p50)}, ${msOf(p99)} ms` };
}

/** The figures of one panel, ordered by the number of targets. */
function figuresOf({ matrix }: FiguresRecord, measure: Measure, payloadBytes: number): MatrixFigure[] {
  return matrix
    .filter((one) => isOf(one, measure, payloadBytes))
    .toSorted((one, other) => one.targets - other.targets);
}

function isOf(
  one: Pick<MatrixFigure, "measure" | "payloadBytes">,
  measure: Measure,
  payloadBytes: number,
): boolean {
  return one.measure === measure && one.payloadBytes === payloadBytes;
}

function storedSeries({ size }: FiguresRecord): [empty: Series, filled: Series] {
  return [
    { name: "no events stored before", colour: "accent" },
    { name: `${countOf(size.storedEvents)} events stored before`, colour: "amber" },
  ];
}
