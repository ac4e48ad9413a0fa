import { logger as createLogger, parse, textMetrics, View, Warn } from "vega";
import { compile } from "vega-lite";
import { panelOf } from "./panel.ts";
import { type colours, config, darkTheme, light } from "./theme.ts";

declare module "vega" {
  /** Vega exports it without a type. `width` estimates the width of a text in pixels where there is no canvas to measure it. */
  export const textMetrics: { width: (item: unknown, text: unknown) => number };
}

// Vega estimates 0.8 em per character, which leaves margins of a third of a chart. Sans-serif text needs about 0.56 em.
const estimate = textMetrics.width;
textMetrics.width = (item, text) => estimate(item, text) * 0.7;

/** A column of panels, each with scales of its own. */
export interface Chart {
  title: string;
  /** A line below the title that explains the labels. */
  subtitle?: string;
  panels: readonly Panel[];
  /** In the order of the legend, and of the bars in a group. */
  series: readonly Series[];
}

export interface Panel {
  title?: string;
  /** The title of the horizontal axis, with its unit. */
  axis: string;
  /** `bars` draws bars of one label beside each other, `stack` parts end to end, `range` points and a line between them. */
  kind: "bars" | "stack" | "range";
  rows: readonly Row[];
  /** A dashed vertical line. */
  mark?: { value: number; text: string };
}

export interface Row {
  label: string;
  /** Exactly one part if the kind is `bars`. */
  parts: readonly Part[];
  /** Text to the right of the row's last part. */
  text: string;
}

export interface Part {
  /** Absent if one colour is enough. */
  series?: string;
  value: number;
}

export interface Series {
  name: string;
  colour: keyof typeof colours;
}

/** The chart as SVG, in the dashboard's light or dark colours as the reader's system prefers. */
export async function renderChart(chart: Chart): Promise<string> {
  const { title, subtitle, panels, series } = chart;
  const specification = {
    title: {
      text: title,
      fontSize: 15,
      frame: "bounds" as const,
      offset: 12,
      ...(subtitle !== undefined && { subtitle }),
    },
    background: light("surface"),
    padding: 16,
    spacing: 16,
    vconcat: panels.map((panel) => panelOf(panel, series)),
    config,
  };
  const view = new View(parse(compile(specification, { logger: refusing() }).spec), { renderer: "none" });
  const svg = await view.toSVG();
  view.finalize();
  const head = `<title>${escaped(title)}</title><desc>${escaped(describe(panels))}</desc>
<style>${darkTheme}</style>`;
  return `${svg.replace(/<svg ([^>]*)>/, (_all, attributes: string) => `<svg role="img" ${attributes}>${head}`)}\n`;
}

/** A logger that throws: Vega-Lite only warns of a specification that it does not understand. */
function refusing(): ReturnType<typeof createLogger> {
  const logger = createLogger(Warn);
  logger.warn = (...words) => {
    throw new Error(`Vega-Lite: ${words.join(" ")}`);
  };
  return logger;
}

/** All figures as text, for readers who do not see the picture. */
function describe(panels: readonly Panel[]): string {
  return panels
    .map(({ title, axis, rows, mark }) => {
      const heading = [title, axis, mark?.text].filter((part) => part !== undefined).join(", ");
      const told = rows.map(({ label, parts, text }) => {
        const [first] = parts;
        const name = parts.length === 1 && first?.series !== undefined ? `${label}, ${first.series}` : label;
        return `${name}: ${text}`;
      });
      return `${heading}: ${told.join("; ")}.`;
    })
    .join(" ");
}

function escaped(text: string): string {
  return text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;");
}
