import type { Figure } from "./figures.ts";

/** Prints figures as a table of Markdown. */
export function printTable(figures: Figure[]): void {
  const cells = figures.map((figure) => [
    figure.name,
    figure.value,
    figure.ratio === undefined ? "" : figure.ratio.toFixed(2),
    figure.goal ?? "",
    figure.isMet === undefined ? "" : figure.isMet ? "met" : "MISSED",
  ]);
  const head = ["figure", "measured", "ratio", "goal", ""];
  const widths = head.map((title, column) =>
    Math.max(title.length, ...cells.map((row) => row[column]!.length)),
  );
  for (const row of [head, widths.map((width) => "-".repeat(width)), ...cells]) {
    process.stdout.write(`| ${row.map((cell, column) => cell.padEnd(widths[column]!)).join(" | ")} |\n`);
  }
}
