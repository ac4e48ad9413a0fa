import type { Panel, Part, Row, Series } from "./chart.ts";
import { light } from "./theme.ts";

const width = 500;
const rowHeight = 18;
const labelWidth = 170;
/** The axis is longer than the longest bar by this factor, so that the text to the right of the bar has room. */
const room = 1.3;

const nominal = "nominal" as const;

/** A panel as a layered view of Vega-Lite. @param series The series of the whole chart. */
export function panelOf(panel: Panel, series: readonly Series[]) {
  const { title, rows, mark } = panel;
  const ends = rows.map((one) => Math.max(...piecesOf(panel.kind, one).map(({ to }) => to)));
  const x = axisOf(panel, Math.max(...ends, mark?.value ?? 0) || 1);
  const row = rowOf(panel, series);
  const texts = rows.map(({ label, parts, text }, n) => ({
    label,
    series: parts[0]!.series,
    to: ends[n],
    text,
  }));
  const textLayer = {
    data: { values: texts },
    encoding: { ...row, x: { ...x, field: "to" }, text: { field: "text", type: nominal } },
  };
  const textMark = { type: "text" as const, align: "left" as const, dx: 6 };
  return {
    width,
    height: { step: rowHeight },
    title: { text: title ?? "", ...(mark !== undefined && { subtitle: `dashed: ${mark.text}` }) },
    layer: [
      ...shapes(panel, series, { row, x }),
      ...(mark === undefined ? [] : [markLayer(mark.value, x)]),
      // A wide outline in the surface's colour keeps the letters readable where the dashed line crosses them.
      { ...textLayer, mark: { ...textMark, stroke: light("surface"), strokeWidth: 4 } },
      { ...textLayer, mark: textMark },
    ],
  };
}

function axisOf({ axis }: Panel, longest: number) {
  return {
    type: "quantitative" as const,
    title: axis,
    scale: { domain: [0, longest * room], nice: false },
    axis: { tickCount: 5, format: ",~f" },
  };
}

/** The vertical position of a row: by its label; bars of several series are placed beside each other. */
function rowOf({ kind, rows }: Panel, series: readonly Series[]) {
  const y = {
    field: "label",
    type: nominal,
    sort: null,
    axis: { title: null, grid: false, minExtent: labelWidth, maxExtent: labelWidth },
  };
  const domain = series.map(({ name }) => name);
  return kind === "bars" && haveSeries(rows)
    ? { y, yOffset: { field: "series", type: nominal, scale: { domain } } }
    : { y };
}

function shapes(
  { kind, rows }: Panel,
  series: readonly Series[],
  { row, x }: { row: ReturnType<typeof rowOf>; x: ReturnType<typeof axisOf> },
) {
  const color = {
    field: "series",
    type: nominal,
    scale: { domain: series.map(({ name }) => name), range: series.map(({ colour }) => light(colour)) },
    legend: { title: null, orient: "top" as const, offset: 12 },
  };
  const pieces = rows.flatMap((one) => piecesOf(kind, one));
  const colouring = haveSeries(rows) ? { color } : { color: { value: light("accent") } };
  if (kind !== "range") {
    const encoding = { ...row, x: { ...x, field: "from" }, x2: { field: "to" }, ...colouring };
    return [{ data: { values: pieces }, mark: { type: "bar" as const }, encoding }];
  }
  const ranges = rows.map(({ label, parts }) => ({ label, ...rangeOf(parts) }));
  return [
    {
      data: { values: ranges },
      mark: { type: "rule" as const, strokeWidth: 3, stroke: light("line") },
      encoding: { ...row, x: { ...x, field: "from" }, x2: { field: "to" } },
    },
    {
      data: { values: pieces },
      mark: { type: "point" as const, filled: true, size: 80, opacity: 1 },
      encoding: { ...row, x: { ...x, field: "to" }, ...colouring },
    },
  ];
}

function markLayer(value: number, x: ReturnType<typeof axisOf>) {
  return {
    data: { values: [{ value }] },
    mark: { type: "rule" as const, stroke: light("muted"), strokeDash: [4, 3] },
    encoding: { x: { ...x, field: "value" } },
  };
}

function haveSeries(rows: Panel["rows"]): boolean {
  return rows.every(({ parts }) => parts.every(({ series }) => series !== undefined));
}

interface Piece {
  label: string;
  series: string | undefined;
  from: number;
  to: number;
}

/** Where the parts of a row begin and end on the axis. */
function piecesOf(kind: Panel["kind"], { label, parts }: Row): Piece[] {
  let from = 0;
  return parts.map(({ series, value }) => {
    const piece = { label, series, from, to: kind === "stack" ? from + value : value };
    if (kind === "stack") from = piece.to;
    return piece;
  });
}

function rangeOf(parts: readonly Part[]): { from: number; to: number } {
  const values = parts.map(({ value }) => value);
  return { from: Math.min(...values), to: Math.max(...values) };
}
