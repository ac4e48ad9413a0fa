import { loadModule, parsePlPgSQLSync, parseSync } from "libpg-query";
import { templateTexts } from "./templateTexts.ts";

/** A node of the parse tree that PostgreSQL's parser produces. */
export type Node = Readonly<Record<string, unknown>>;

/** The text of a statement, and its place. */
export interface Statement {
  /** The function or file that contains the statement: `accept_items` or `server/src/billing/ledger.ts`. */
  place: string;
  text: string;
  /** Whether it is a chain of the query builder: that is TypeScript, from which only the names of tables can be read. */
  isBuilder: boolean;
}

/** A function that is installed in a database. */
export interface InstalledFunction {
  name: string;
  language: string;
  /** `create function …`, the result of `pg_get_functiondef`. */
  definition: string;
}

/** Parse modes of PL/pgSQL expressions: 0 is a statement, 2 a value, and from 3 on an assignment to a name with n - 2 parts. */
const statementMode = 0;
const valueMode = 2;

await loadModule();

/** The statements and expressions of a function's body. @throws {Error} when the body cannot be parsed. */
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

/** The SQL in a TypeScript file: texts that begin like statements, and chains of the query builder. */
export function sourceStatements(place: string, source: string): Statement[] {
  const texts = templateTexts(source).filter((text) => /^\s*(select|insert|update|delete|with)\s/.test(text));
  return [
    ...texts.map((text) => ({ place, text, isBuilder: false })),
    ...builderChains(source).map((text) => ({ place, text, isBuilder: true })),
  ];
}

/** The parse tree of a statement; undefined for a chain of the query builder, and for a text that is only part of a statement. */
export function treeOf({ text, isBuilder }: Statement): Node | undefined {
  if (isBuilder) return undefined;
  try {
    return parseSync(text) as unknown as Node;
  } catch {
    return undefined;
  }
}

/** The chains of the query builder: each from its first table to the end of the enclosing expression. */
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

/** Every object of a tree, parents before their children. */
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
