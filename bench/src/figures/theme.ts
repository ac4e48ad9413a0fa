/** The dashboard's colours, each in its light and its dark theme. */
export const colours = {
  accent: ["#3B5BDB", "#8DA2FB"],
  amber: ["#8A5300", "#F2B84B"],
  surface: ["#FFFFFF", "#161A21"],
  text: ["#14181F", "#E7EAF0"],
  muted: ["#545D6B", "#9AA4B2"],
  grid: ["#DDE1E8", "#2A303B"],
  line: ["#858E9C", "#6B7585"],
} as const;

export function light(name: keyof typeof colours): string {
  return colours[name][0];
}

/**
 * A style sheet that replaces the light colours, which Vega writes as attributes, by the dark ones if the reader's system prefers
 * dark: rules of a style sheet take precedence over attributes.
 */
export const darkTheme = `@media (prefers-color-scheme: dark) {
${Object.values(colours)
  .flatMap(([from, to]) =>
    ["fill", "stroke"].map((property) => `  [${property}="${from}"] { ${property}: ${to}; }`),
  )
  .join("\n")}
}`;

/** The Vega-Lite configuration of every chart. */
export const config = {
  aria: false,
  font: "system-ui, -apple-system, 'Segoe UI', sans-serif",
  view: { stroke: null },
  text: { color: light("text"), fontSize: 12 },
  title: {
    anchor: "start",
    frame: "group",
    color: light("text"),
    fontSize: 13,
    subtitleColor: light("muted"),
    subtitleFontSize: 12,
  },
  legend: { labelColor: light("text"), labelFontSize: 12, labelLimit: 0, symbolType: "square" },
  axis: {
    labelColor: light("text"),
    labelFontSize: 12,
    labelLimit: 0,
    labelPadding: 6,
    titleColor: light("muted"),
    titleFontSize: 12,
    titleFontWeight: "normal",
    gridColor: light("grid"),
    domain: false,
    ticks: false,
  },
} as const;
