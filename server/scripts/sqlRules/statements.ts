import { loadModule, parsePlPgSQLSync, parseSync } from "libpg-query";
import { templateTexts } from "./templateTexts.ts";

/** A node of a parse tree, as PostgreSQL's own parser makes it. */
export type Node = Readonly<Record<string, unknown>>;

/** A statement as it was written. */
export interface Statement {
  /** Where it is: `accept_items` or `server/src/billing/ledger.ts`. */
  place: string;
  text: string;
  /** A chain of the query builder is TypeScript: only the names of its tables can be known. */
  isBuilder: boolean;
}

/** A function as a database has it installed. */
export interface InstalledFunction {
  name: string;
  language: string;
  /** `create function …`, as `pg_get_functiondef` gives it. */
  definition: string;
}

/** Parse modes of PL/pgSQL expressions: 0 is a statement, 2 a value, and from 3 on an assignment to a name with n - 2 parts. */
const statementMode = 0;
const valueMode = 2;

await loadModule();

/** The statements and expressions of a function's body. @throws {Error} when it cannot be read. */
export function functionStatements({ name, language, definition }: InstalledFunction): Statement[] {
  const texts = language === "plpgsql" ? plpgsqlTexts(definition) : [sqlBody(definition)];
  return texts.map((text) => ({ place: name, text, isBuilder: false }));
}

function plpgsqlTexts(definition: string): string[] {
  const texts = new Set<string>();
  for (const found of walk(parsePlPgSQLSync(definition))) {
    const expression = found["PLpgSQL_expr"] as { query: string; parseMode?: number } | undefined;
    if (expression === undefined) continue;
    const { query, parseMode = statementMode } = expression;
    if (parseMode === statementMode) texts.add(query);
    else texts.add(`select ${parseMode === valueMode ? query : query.replace(/^[^]*?:?=/, "")}`);
  }
  return [...texts];
}

function sqlBody(definition: string): string {
  for (const node of walk(parseSync(definition))) {
    const option = node["DefElem"] as { defname?: string; arg?: { List?: { items: Node[] } } } | undefined;
    if (option?.defname !== "as") continue;
    return (option.arg!.List!.items[0]!["String"] as { sval: string }).sval;
  }
  throw new Error("a function of SQL without a body");
}

/** The SQL that a file of TypeScript holds: texts that begin as statements do, and chains of the query builder. */
export function sourceStatements(place: string, source: string): Statement[] {
  const texts = templateTexts(source).filter((text) => /^\s*(select|insert|update|delete|with)\s/.test(text));
  return [
    ...texts.map((text) => ({ place, text, isBuilder: false })),
    ...builderChains(source).map((text) => ({ place, text, isBuilder: true })),
  ];
}

/** The tree of a statement; undefined for one that is put together from parts, of which this is one. */
export function treeOf({ text, isBuilder }: Statement): Node | undefined {
  if (isBuilder) return undefined;
  try {
    return parseSync(text) as unknown as Node;
  } catch {
    return undefined;
  }
}

/** From the first table of a chain to where the expression ends that it is in. */
function builderChains(source: string): string[] {
  return [...source.matchAll(/\.(selectFrom|insertInto|updateTable|deleteFrom)\(/g)].map(({ index }) => {
    let depth = 0;
    let end = index;
    for (; end < source.length; end++) {
      const character = source[end]!;
      if ("([{".includes(character)) depth++;
      else if (")]}".includes(character)) depth--;
      if (depth < 0 || (depth === 0 && character === ";")) break;
    }
    return source.slice(index, end);
  });
}

/** Every object of a tree, the outer before the inner. */
export function walk(tree: unknown): Node[] {
  const found: Node[] = [];
  const visit = (part: unknown): void => {
    if (part === null || typeof part !== "object") return;
    if (!Array.isArray(part)) found.push(part as Node);
    for (const inner of Object.values(part)) visit(inner);
  };
  visit(tree);
  return found;
}
