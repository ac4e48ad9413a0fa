import { dirname, posix } from "node:path";
import { folderCircles } from "./folderCircles.ts";

/** A source file: its path relative to the repository's root, with forward slashes, and its text. */
export interface SourceFile {
  path: string;
  text: string;
}

/**
 * Finds violations of the rules on names and on the direction of imports; returns one sentence for each. Every folder of
 * `server/src` may import from its own layer and from those below, and no two folders may import each other, directly or
 * through others. Tests may import anything.
 */
export function layoutProblems(files: readonly SourceFile[]): string[] {
  return [...files.flatMap(nameProblems), ...files.flatMap(importProblems), ...circleProblems(files)];
}

/** Forbidden names, which do not say what the file or folder contains, so that unrelated code collects there. */
const emptyNames = new Set(
  "utils util helpers helper common shared misc lib types services service index".split(" "),
);

/** The folders of `server/src` from the lowest layer to the highest. */
const layers: readonly (readonly string[])[] = [
  ["config"],
  ["runtime", "telemetry"],
  ["postgres", "outbound", "mail"],
  ["http"],
  ["items", "audit", "maintenance"],
  ["filters"],
  [
    "accounts",
    "members",
    "backup",
    "tryout",
    "targets",
    "intake",
    "delivery",
    "handoff",
    "mailbox",
    "events",
    "customers",
    "eventTypes",
    "portal",
    "publications",
    "replays",
    "testsend",
    "erasures",
    "notifications",
    "stats",
    "billing",
    "stream",
  ],
  ["mcp"],
  ["app.ts"],
  ["process"],
];

const source = "server/src/";

function nameProblems({ path }: SourceFile): string[] {
  const names = path.replace(/(\.test|\.d)?\.tsx?$/, "").split("/");
  const problems = names
    .filter((name) => emptyNames.has(name))
    .map((name) => `${path}: "${name}" does not say what it contains; name it after its purpose`);
  if (path.startsWith(source) && layerOf(path) === -1) {
    problems.push(
      `${path}: its folder is not in the list of server/scripts/layout.ts; give it a layer there`,
    );
  }
  return problems;
}

function importProblems(file: SourceFile): string[] {
  const layer = layerOf(file.path);
  if (layer === -1) return [];
  return importsOf(file).flatMap((imported) => {
    const to = layerOf(imported);
    const isServer = imported.startsWith(`${source}http/`) && !imported.startsWith(`${source}http/contract/`);
    const mayServe = topOf(file.path) === "http" || layer >= layerOf(`${source}app.ts`);
    if (to !== -1 && to <= layer && (!isServer || mayServe)) return [];
    const why = whyNot(to, isServer, file.path, imported);
    return [`${file.path} imports ${imported}: ${why}`];
  });
}

function whyNot(to: number, isServer: boolean, path: string, imported: string): string {
  if (to === -1) return "it is outside of server/src";
  return isServer
    ? "only http/contract is for features, the server itself for app.ts and above"
    : `${topOf(imported)} is above ${topOf(path)}`;
}

/** Finds import cycles between folders, and between top-level folders including all their subfolders. */
function circleProblems(files: readonly SourceFile[]): string[] {
  const imports = files
    .filter((file) => layerOf(file.path) !== -1)
    .flatMap((file) => importsOf(file).map((to) => ({ from: file.path, to })))
    .filter(({ to }) => layerOf(to) !== -1);
  const circles = (folderOf: (path: string) => string): string[] =>
    folderCircles(imports, folderOf).map((steps) => `a circle of folders: ${steps.join("; ")}`);
  return [
    ...new Set([...circles((path) => posix.dirname(path)), ...circles((path) => source + topOf(path))]),
  ];
}

/** The files that a file imports, except JSON files. Empty for tests, which may import anything. */
function importsOf({ path, text }: SourceFile): string[] {
  if (path.endsWith(".test.ts")) return [];
  return specifiers(text)
    .filter((specifier) => specifier.startsWith("."))
    .map((specifier) => posix.join(dirname(path), specifier))
    .filter((imported) => !imported.endsWith(".json"));
}

/** The top-level folder of `server/src` that contains the file, or the file itself if it is directly in `server/src`. */
function topOf(path: string): string {
  return path.slice(source.length).split("/")[0] ?? "";
}

/** Index of the file's layer, 0 for the lowest; -1 outside of `server/src` and for an unknown folder. */
function layerOf(path: string): number {
  if (!path.startsWith(source)) return -1;
  return layers.findIndex((folders) => folders.includes(topOf(path).replace(".test.ts", ".ts")));
}

/** Module specifiers of static imports, re-exports and dynamic imports of a literal. */
function specifiers(text: string): string[] {
  const pattern =
    /^\s*(?:import|export)\b[^;"'`]*?\bfrom\s*["']([^"']+)["']|^\s*import\s*["']([^"']+)["']|\bimport\(\s*["']([^"']+)["']/gm;
  return [...text.matchAll(pattern)].map((match) => match[1] ?? match[2] ?? match[3] ?? "");
}
