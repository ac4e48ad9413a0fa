/** A command's result for people: a line for each field, and for a list a table with its fields as columns. */
export function resultText(result: object): string {
  return Object.entries(result)
    .map(([field, value]) => (Array.isArray(value) ? tableText(value) : `${field}  ${value}\n`))
    .join("");
}

function tableText(rows: readonly object[]): string {
  const lines = [Object.keys(rows[0] ?? {}), ...rows.map((row) => Object.values(row).map(String))];
  const widths = lines[0]!.map((_, column) => Math.max(...lines.map((line) => line[column]!.length)));
  const text = (line: readonly string[]): string =>
    line
      .map((cell, column) => cell.padEnd(widths[column]!))
      .join("  ")
      .trimEnd();
  return lines.map((line) => `${text(line)}\n`).join("");
}
