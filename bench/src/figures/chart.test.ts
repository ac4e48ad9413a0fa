import { expect, test } from "vitest";
import { type Chart, renderChart } from "./chart.ts";

const chart: Chart = {
  title: "Rates & <times>",
  series: [
    { name: "p50", colour: "accent" },
    { name: "p99", colour: "amber" },
  ],
  panels: [
    {
      title: "200 B",
      axis: "items per second",
      kind: "stack",
      rows: [
        { label: "1 target", parts: [{ series: "p50", value: 50 }], text: "50/s" },
        {
          label: "10 targets",
          parts: [
            { series: "p50", value: 60 },
            { series: "p99", value: 40 },
          ],
          text: "100/s",
        },
      ],
      mark: { value: 200, text: "ceiling 200/s" },
    },
  ],
};

/** The bars in a chart: their colour, where they begin, and their length. */
function barsIn(svg: string): [colour: string, x: number, length: number][] {
  return [...svg.matchAll(/<path d="M([\d.]+),[\d.]+h([\d.]+)v[^"]*" fill="(#\w+)"/g)].map(
    ([, x, length, colour]) => [colour!, Number(x), Number(length)],
  );
}

test("bars have the scale of their panel, whose axis ends beyond the mark", async () => {
  const svg = await renderChart(chart);
  // The axis of 500 pixels is 1.3 times as long as the largest value, which is the mark at 200.
  const pixels = (value: number): number => (value * 500) / (200 * 1.3);
  expect(barsIn(svg).map(([colour, x, length]) => [colour, x.toFixed(1), length.toFixed(1)])).toEqual([
    ["#3B5BDB", "0.0", pixels(50).toFixed(1)],
    ["#3B5BDB", "0.0", pixels(60).toFixed(1)],
    ["#8A5300", pixels(60).toFixed(1), pixels(40).toFixed(1)],
  ]);
  const [, markAt] = /<line transform="translate\(([\d.]+),0\)"[^>]*stroke-dasharray="4,3"/.exec(svg) ?? [];
  expect(Number(markAt)).toBeCloseTo(pixels(200));
});

test("a chart describes all its figures as text, and escapes markup in its texts", async () => {
  const svg = await renderChart(chart);
  expect(svg).toContain("<title>Rates &amp; &lt;times&gt;</title>");
  expect(svg).toContain(
    "<desc>200 B, items per second, ceiling 200/s: 1 target, p50: 50/s; 10 targets: 100/s.</desc>",
  );
  expect(svg).not.toContain("<times>");
});

test("every colour in a chart has a counterpart in the dark theme", async () => {
  const svg = await renderChart(chart);
  const [style = ""] = /<style>[^]*<\/style>/.exec(svg) ?? [];
  const used = new Set(
    [...svg.replace(style, "").matchAll(/(?:fill|stroke)="(#\w+)"/g)].map(([, hex]) => hex!),
  );
  expect(used.size).toBeGreaterThan(4);
  expect([...used].filter((hex) => !style.includes(`[fill="${hex}"]`))).toEqual([]);
});

test("a chart whose values are all zero is drawn", async () => {
  const rows = [{ label: "none", parts: [{ value: 0 }], text: "0/s" }];
  const panels = (["bars", "stack", "range"] as const).map((kind) => ({ axis: "items", kind, rows }));
  expect(await renderChart({ title: "none", series: [], panels })).not.toMatch(/NaN|Infinity/);
});
