/**
 * The candidate with the fewest single-character edits to `name`; undefined when even that one needs edits for more than
 * a quarter of its letters. Ignores case.
 */
export function nearestName(name: string, candidates: readonly string[]): string | undefined {
  let nearest: string | undefined;
  let fewest = Number.POSITIVE_INFINITY;
  for (const candidate of candidates) {
    const edits = editDistance(name.toUpperCase(), candidate.toUpperCase());
    if (edits <= candidate.length / 4 && edits < fewest) {
      nearest = candidate;
      fewest = edits;
    }
  }
  return nearest;
}

/** Levenshtein distance, one row at a time. */
function editDistance(from: string, to: string): number {
  let row = Array.from({ length: to.length + 1 }, (_, column) => column);
  for (let i = 1; i <= from.length; i++) {
    const next = [i];
    for (let j = 1; j <= to.length; j++) {
      const substituted = at(row, j - 1) + (from[i - 1] === to[j - 1] ? 0 : 1);
      next.push(Math.min(substituted, at(row, j) + 1, at(next, j - 1) + 1));
    }
    row = next;
  }
  return at(row, to.length);
}

function at(row: readonly number[], index: number): number {
  return row[index] ?? Number.POSITIVE_INFINITY;
}
