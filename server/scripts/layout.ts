import { dirname, posix } from "node:path";

/** A source file: its path relative to the repository's root, with forward slashes, and its text. */
export interface SourceFile {
  path: string;
  text: string;
}

/**
 * The ways in which the files break the house rules on names and on the direction of imports, one sentence each:
 * `net, db, telemetry ← features ← http, app ← main, cli`. Tests may import anything.
 */
export function layoutProblems(files: readonly SourceFile[]): string[] {
  return files.flatMap((file) => [...nameProblems(file), ...importProblems(file)]);
}

/** Names that say nothing about what is inside, so that anything ends up there. */
const emptyNames = new Set(
  "utils util helpers helper common shared misc lib types services service index".split(" "),
);

const foundations = ["net", "db", "telemetry"];
const features = [
  "accounts",
  "targets",
  "intake",
  "delivery",
  "handoff",
  "mailbox",
  "events",
  "billing",
  "maintenance",
];

type Layer = "config" | "foundation" | "feature" | "contract" | "edge" | "process";

/** What each layer may import. `contract` is the part of `http` that features build their routes from. */
const allowed: Record<Layer, readonly Layer[]> = {
  config: ["config"],
  foundation: ["config", "foundation"],
  contract: ["config", "foundation", "feature", "contract"],
  feature: ["config", "foundation", "feature", "contract"],
  edge: ["config", "foundation", "feature", "contract", "edge"],
  process: ["config", "foundation", "feature", "contract", "edge", "process"],
};

function nameProblems({ path }: SourceFile): string[] {
  const names = path.replace(/(\.test|\.d)?\.tsx?$/, "").split("/");
  const problems = names
    .filter((name) => emptyNames.has(name))
    .map((name) => `${path}: "${name}" says nothing about what is inside; name it by what it does`);
  if (path.startsWith(source) && layerOf(path) === undefined) {
    problems.push(
      `${path}: its folder is not in the list of server/scripts/layout.ts; give it a layer there`,
    );
  }
  return problems;
}

function importProblems({ path, text }: SourceFile): string[] {
  const from = layerOf(path);
  if (from === undefined || path.endsWith(".test.ts")) return [];
  return specifiers(text)
    .filter((specifier) => specifier.startsWith("."))
    .map((specifier) => posix.join(dirname(path), specifier))
    .filter((imported) => !imported.endsWith(".json"))
    .flatMap((imported) => {
      const to = imported.startsWith(source) ? layerOf(imported) : undefined;
      if (to !== undefined && allowed[from].includes(to)) return [];
      return [
        `${path} imports ${imported}: ${layerNames[from]} must not import ${to ? layerNames[to] : "it"}`,
      ];
    });
}

const source = "server/src/";

const layerNames: Record<Layer, string> = {
  config: "the configuration",
  foundation: "net, db and telemetry",
  contract: "what routes are built from",
  feature: "a feature",
  edge: "http and app.ts",
  process: "the process (main.ts, cli.ts and what they assemble)",
};

/** The layer of a file of `server/src`, undefined elsewhere and for an unknown folder. */
function layerOf(path: string): Layer | undefined {
  if (!path.startsWith(source)) return undefined;
  const [first = "", ...rest] = path.slice(source.length).split("/");
  if (rest.length === 0 || first === "cli") return layerOfRootFile(first);
  if (foundations.includes(first)) return "foundation";
  if (features.includes(first)) return "feature";
  if (first !== "http") return undefined;
  return /^(errors|schemas|json|parseIf|route\w*)\./.test(rest.join("/")) ? "contract" : "edge";
}

function layerOfRootFile(name: string): Layer {
  if (/^(main|cli|assemble|database|presence)(\.|$)/.test(name)) return "process";
  return name.startsWith("app") ? "edge" : "config";
}

/** Module specifiers of static imports, re-exports and dynamic imports of a literal. */
function specifiers(text: string): string[] {
  const pattern =
    /^\s*(?:import|export)\b[^;"'`]*?\bfrom\s*["']([^"']+)["']|^\s*import\s*["']([^"']+)["']|\bimport\(\s*["']([^"']+)["']/gm;
  return [...text.matchAll(pattern)].map((match) => match[1] ?? match[2] ?? match[3] ?? "");
}
