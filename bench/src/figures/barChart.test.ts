import { expect, test } from "vitest";
import { barChart } from "./barChart.ts";

const chart = {
  title: "Rates & <times>",
  keys: [{ tone: "first" as const, text: "p50" }],
  panels: [
    {
      title: "200 B",
      bars: [
        { label: "1 target", parts: [{ value: 50, tone: "first" as const }], text: "50/s" },
        {
          label: "10 targets",
          parts: [
            { value: 60, tone: "first" as const },
            { value: 40, tone: "third" as const },
          ],
          text: "100/s",
        },
      ],
      mark: { value: 200, text: "ceiling 200/s" },
    },
  ],
};

test("a chart has bars to the scale of its panel", () => {
  const lengths = [
    ...barChart(chart).matchAll(/<rect class="(\w+)" x="([\d.]+)" y="\d+" width="(\d+\.\d)"/g),
  ];
  expect(lengths.map(([, tone, x, length]) => [tone, x, length])).toEqual([
    ["first", "220.0", "95.0"],
    ["first", "220.0", "114.0"],
    ["third", "334.0", "76.0"],
  ]);
  expect(barChart(chart)).toContain('<line class="mark" x1="600.0"');
});

test("a chart says all it shows to those who do not see it, and holds no markup of its texts", () => {
  const svg = barChart(chart);
  expect(svg).toContain('<title id="title">Rates &amp; &lt;times&gt;</title>');
  expect(svg).toContain(
    '<desc id="description">200 B (ceiling 200/s): 1 target: 50/s; 10 targets: 100/s.</desc>',
  );
  expect(svg).toContain('role="img" aria-labelledby="title description"');
});

test("a chart of nothing but zeros is drawn", () => {
  const bars = [{ label: "none", parts: [{ value: 0, tone: "first" as const }], text: "0/s" }];
  expect(barChart({ title: "none", keys: [], panels: [{ title: "none", bars }] })).not.toMatch(
    /NaN|Infinity/,
  );
});
