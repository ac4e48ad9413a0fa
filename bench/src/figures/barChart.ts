/** A chart of horizontal bars in panels below each other; every panel has a scale of its own. */
export interface BarChart {
  title: string;
  panels: readonly Panel[];
  /** What the tones stand for. */
  keys: readonly { tone: Tone; text: string }[];
}

export interface Panel {
  title: string;
  bars: readonly Bar[];
  /** A line across the bars. */
  mark?: { value: number; text: string };
}

export interface Bar {
  label: string;
  /** Put together, from the left. */
  parts: readonly { value: number; tone: Tone }[];
  /** What stands behind the bar. */
  text: string;
}

export type Tone = "first" | "second" | "third";

const width = 760;
const margin = 20;
const barsAt = 220;
const longest = 380;
const titleHeight = 34;
const barHeight = 14;
const lineHeight = 20;
const panelGap = 14;

/**
 * The chart as SVG: readable on a light and on a dark page, with all it shows in its description for those who do not see
 * it.
 */
export function barChart({ title, panels, keys }: BarChart): string {
  const parts: string[] = [];
  let y = margin + 16;
  parts.push(textAt(margin, y, title, "title"));
  y += 22;
  if (keys.length > 0) {
    parts.push(keyLine(keys, y));
    y += lineHeight;
  }
  for (const panel of panels) {
    y += panelGap;
    parts.push(...panelAt(panel, y));
    y += panelHeight(panel);
  }
  const height = y + margin;
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${height}" width="${width}" height="${height}" role="img" aria-labelledby="title description">
<title id="title">${escaped(title)}</title>
<desc id="description">${escaped(describe(panels))}</desc>
<style>
${style}</style>
<rect class="page" width="${width}" height="${height}" rx="6"/>
${parts.join("\n")}
</svg>
`;
}

const style = `text { font: 12px system-ui, -apple-system, "Segoe UI", sans-serif; fill: #1f2328; }
.title { font-size: 15px; font-weight: 600; }
.panel { font-weight: 600; }
.label { text-anchor: end; }
.page { fill: #ffffff; stroke: #d1d9e0; }
.mark { stroke: #59636e; stroke-width: 1.5; stroke-dasharray: 4 3; }
.marked { fill: #59636e; }
.first { fill: #2f6fde; }
.second { fill: #c2571a; }
.third { fill: #8aa9d6; }
@media (prefers-color-scheme: dark) {
  text { fill: #e6edf3; }
  .page { fill: #0d1117; stroke: #3d444d; }
  .mark { stroke: #9198a1; }
  .marked { fill: #9198a1; }
  .first { fill: #6ea8fe; }
  .second { fill: #f0a35e; }
  .third { fill: #3b5f96; }
}
`;

function panelHeight({ bars }: Panel): number {
  return titleHeight - 12 + bars.length * lineHeight;
}

function panelAt({ title, bars, mark }: Panel, top: number): string[] {
  const totals = bars.map(({ parts }) => sumOf(parts));
  const scale = longest / (Math.max(...totals, mark?.value ?? 0) || 1);
  const firstBarAt = top + titleHeight - 12;
  const lines = [textAt(margin, top + 12, title, "panel")];
  for (const [index, bar] of bars.entries()) {
    const y = firstBarAt + index * lineHeight;
    let x = barsAt;
    lines.push(textAt(barsAt - 8, y + 11, bar.label, "label"));
    for (const { value, tone } of bar.parts) {
      const length = value * scale;
      lines.push(
        `<rect class="${tone}" x="${x.toFixed(1)}" y="${y}" width="${length.toFixed(1)}" height="${barHeight}"/>`,
      );
      x += length;
    }
    const markAt = mark === undefined ? x : barsAt + mark.value * scale;
    // Beside the line rather than across it.
    const textStart = markAt > x - 2 && markAt < x + 110 ? Math.max(x, markAt) : x;
    lines.push(textAt(textStart + 6, y + 11, bar.text, "value"));
  }
  if (mark !== undefined) {
    const x = (barsAt + mark.value * scale).toFixed(1);
    const bottom = firstBarAt + bars.length * lineHeight - 4;
    lines.push(`<line class="mark" x1="${x}" y1="${firstBarAt - 2}" x2="${x}" y2="${bottom}"/>`);
    lines.push(textAt(barsAt, top + 12, mark.text, "marked"));
  }
  return lines;
}

function keyLine(keys: BarChart["keys"], y: number): string {
  let x = margin;
  return keys
    .map(({ tone, text }) => {
      const entry = `<rect class="${tone}" x="${x}" y="${y - 11}" width="12" height="12"/>\n${textAt(x + 18, y, text, "key")}`;
      x += 40 + text.length * 7;
      return entry;
    })
    .join("\n");
}

function textAt(x: number, y: number, text: string, kind: string): string {
  return `<text class="${kind}" x="${x.toFixed(1)}" y="${y}">${escaped(text)}</text>`;
}

function describe(panels: readonly Panel[]): string {
  return panels
    .map(({ title, bars, mark }) => {
      const said = bars.map(({ label, text }) => `${label}: ${text}`).join("; ");
      return `${title}${mark === undefined ? "" : ` (${mark.text})`}: ${said}.`;
    })
    .join(" ");
}

function sumOf(parts: Bar["parts"]): number {
  return parts.reduce((sum, { value }) => sum + value, 0);
}

function escaped(text: string): string {
  return text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;");
}
