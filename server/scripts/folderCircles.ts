/** One file that imports another. */
export interface FileImport {
  from: string;
  to: string;
}

/**
 * Finds cycles of folders that import each other. Returns for each the imports of its shortest path. Folders of one
 * cycle are reported once.
 */
export function folderCircles(
  imports: readonly FileImport[],
  folderOf: (path: string) => string,
): string[][] {
  const edges = new Map<string, Map<string, FileImport>>();
  for (const each of imports) {
    const [from, to] = [folderOf(each.from), folderOf(each.to)];
    if (from === to) continue;
    const targets = edges.get(from) ?? new Map<string, FileImport>();
    if (!targets.has(to)) targets.set(to, each);
    edges.set(from, targets);
  }
  const reported = new Set<string>();
  const circles: string[][] = [];
  for (const folder of [...edges.keys()].toSorted()) {
    if (reported.has(folder)) continue;
    const way = shortestWayBack(folder, edges);
    if (way === undefined) continue;
    for (const each of way) reported.add(folderOf(each.from));
    circles.push(way.map(({ from, to }) => `${from} imports ${to}`));
  }
  return circles;
}

/** Breadth-first search for the shortest path of imports from a folder back to itself. */
function shortestWayBack(
  start: string,
  edges: ReadonlyMap<string, ReadonlyMap<string, FileImport>>,
): FileImport[] | undefined {
  const queue: { folder: string; way: FileImport[] }[] = [{ folder: start, way: [] }];
  const seen = new Set<string>();
  for (const { folder, way } of queue) {
    for (const [next, step] of edges.get(folder) ?? []) {
      if (next === start) return [...way, step];
      if (seen.has(next)) continue;
      seen.add(next);
      queue.push({ folder: next, way: [...way, step] });
    }
  }
  return undefined;
}
