import type { TablePlace } from "../../src/postgres/tablePlaces.ts";
import {
  type InstalledFunction,
  type Node,
  type Statement,
  functionStatements,
  treeOf,
  walk,
} from "./statements.ts";

/** A broken rule, and the function, file or table that breaks it. */
export interface Breach {
  rule: string;
  place: string;
}

/** Facts about the database that the checks of statements need. */
export interface Surroundings {
  places: ReadonlyMap<string, TablePlace>;
  /** Names of functions with a volatile overload. */
  volatile: ReadonlySet<string>;
  /** Names of functions with an overload that is not immutable. */
  mutable: ReadonlySet<string>;
  /** Names of the service's functions that read tables, directly or through other functions: see {@link readingFunctions}. */
  reading: ReadonlySet<string>;
  /** By table, the columns whose default is a number of a sequence. */
  numbered: ReadonlyMap<string, readonly string[]>;
}

/** Breaches of the rules of cells by a statement. Only statements on the data plane or on reference tables are checked. */
export function statementBreaches(statement: Statement, surroundings: Surroundings): Breach[] {
  return judge(statement, surroundings).breaches;
}

function judge(
  statement: Statement,
  surroundings: Surroundings,
): { places: Set<TablePlace>; breaches: Breach[] } {
  const tree = mayName(statement, surroundings) ? treeOf(statement) : undefined;
  const places = placesOf(statement, tree, surroundings.places);
  if (places.size === 0 || (places.size === 1 && places.has("local"))) return { places, breaches: [] };
  const broken = treeRules
    .filter(({ isBroken }) => tree !== undefined && isBroken(tree, surroundings))
    .map(({ rule }) => rule);
  if (places.has("cell") && places.has("local")) broken.push("joins data plane and local tables");
  return { places, breaches: broken.map((rule) => ({ rule, place: statement.place })) };
}

/** Whether a statement may name a table. Saves parsing, which is most of the work, for the many texts that name none. */
function mayName({ text }: Statement, { places }: Surroundings): boolean {
  return (text.match(/[a-z_]+/g) ?? []).some((word) => places.has(word));
}

/** Breaches of the rules of cells by a function. All its statements run together, on the server of one cell. */
export function functionBreaches(installed: InstalledFunction, surroundings: Surroundings): Breach[] {
  const judged = functionStatements(installed).map((statement) => judge(statement, surroundings));
  const place = installed.name;
  const breaches = judged.flatMap((one) => one.breaches);
  const places = new Set(judged.flatMap((one) => Array.from(one.places)));
  if ((places.has("cell") || places.has("reference")) && installed.language === "sql")
    breaches.push({ rule: "a function of language SQL reads the data plane", place });
  if (places.has("cell") && places.has("local"))
    breaches.push({ rule: "a function of the data plane uses a local table", place });
  if (functionStatements(installed).some(drawsNumber))
    breaches.push({ rule: "draws from a sequence", place });
  return breaches;
}

/** Names of the functions whose statements read tables, or call functions that do. */
export function readingFunctions(
  functions: readonly InstalledFunction[],
  places: Surroundings["places"],
): Set<string> {
  const trees = functions.map((installed) => ({
    name: installed.name,
    trees: functionStatements(installed).flatMap((statement): Node[] => {
      const tree = treeOf(statement);
      return tree === undefined ? [] : [tree];
    }),
  }));
  const reading = new Set<string>();
  for (let size = -1; size < reading.size;) {
    size = reading.size;
    for (const { name, trees: ofFunction } of trees) {
      const isReading = ofFunction.some(
        (tree) =>
          namesInTree(tree).some((table) => places.has(table)) ||
          some(tree, (node) => reading.has(calledFunction(node) ?? "")),
      );
      if (isReading) reading.add(name);
    }
  }
  return reading;
}

const treeRules: readonly { rule: string; isBroken: (tree: Node, surroundings: Surroundings) => boolean }[] =
  [
    {
      rule: "sets a column to an element or slice of an array",
      isBroken: (tree) => some(tree, (node) => assigned(node).some(endsWithSubscript)),
    },
    {
      rule: "calls a volatile function in an update or a delete",
      isBroken: (tree, { volatile }) =>
        [...updates(tree), ...deletions(tree)].some((change: unknown) =>
          some(change, (node) => volatile.has(calledFunction(node) ?? "")),
        ),
    },
    {
      rule: "returns what a function that is not immutable gives",
      isBroken: (tree, { mutable }) =>
        returned(tree).some((list) => some(list, (node) => mutable.has(calledFunction(node) ?? ""))),
    },
    {
      rule: "uses ctid beside an insert",
      isBroken: (tree) => some(tree, (node) => "InsertStmt" in node) && some(tree, isCtid),
    },
    {
      rule: "has several modifying CTEs",
      isBroken: (tree) => walk(tree).filter(isModifyingCte).length > 1,
    },
    {
      // Citus runs such a statement on a worker, where the function finds neither tables nor other functions.
      rule: "calls a function that reads tables beside a table",
      isBroken: (tree, { reading }) => some(tree, (node) => reading.has(calledFunction(node) ?? "")),
    },
    {
      rule: "inserts what it selects from a table of a cell",
      isBroken: (tree, { places }) =>
        inserted(tree).some(({ fromClause }) =>
          namesInTree({ fromClause }).some((name) => places.get(name) === "cell"),
        ),
    },
    {
      rule: "leaves a column to its sequence",
      isBroken: (tree, { places, numbered }) =>
        inserts(tree).some(
          ({ relation: { relname }, cols = [] }) =>
            places.get(relname) === "cell" &&
            (numbered.get(relname) ?? []).some(
              (column) => !cols.some(({ ResTarget: { name } }) => name === column),
            ),
        ),
    },
    {
      // Citus evaluates the condition separately for each copy, on the coordinator with the row from before it waited for the
      // lock.
      rule: "changes a copied table by more than its keys",
      isBroken: (tree, { places }) =>
        changes(tree).some(
          ({ relation: { relname }, whereClause }) =>
            places.get(relname) === "reference" &&
            (some(whereClause, (node) => "SubLink" in node) ||
              columnsIn(whereClause).some((column) => !lastingColumns.has(column))),
        ),
    },
    {
      rule: "has a subquery in VALUES",
      isBroken: (tree) =>
        inserted(tree).some(({ valuesLists }) => some(valuesLists, (node) => "SubLink" in node)),
    },
  ];

function some(tree: unknown, fits: (node: Node) => boolean): boolean {
  return walk(tree).some(fits);
}

interface Update {
  targetList?: readonly { ResTarget: { val?: Node } }[];
}

/** The updates of a statement: its own, those of its CTEs, and those of `on conflict`. */
function updates(tree: Node): Update[] {
  return walk(tree).flatMap((node) => {
    const update = node["UpdateStmt"] ?? node["onConflictClause"];
    return update === undefined ? [] : [update as Update];
  });
}

interface Change {
  relation: { relname: string };
  whereClause?: unknown;
}

/** The updates and deletions of a statement. */
function changes(tree: Node): Change[] {
  return walk(tree).flatMap((node) => (node["UpdateStmt"] ?? node["DeleteStmt"] ?? []) as Change | Change[]);
}

/** Columns of reference tables that never change after the insert. */
const lastingColumns: ReadonlySet<string> = new Set(["id", "org_id", "target_id"]);

function columnsIn(tree: unknown): string[] {
  return walk(tree).flatMap((node) => {
    const fields = (node["ColumnRef"] as { fields: { String?: { sval: string } }[] } | undefined)?.fields;
    return fields?.at(-1)?.String?.sval ?? [];
  });
}

function deletions(tree: Node): Node[] {
  return walk(tree).flatMap((node) => {
    const deletion = node["DeleteStmt"] as Node | undefined;
    return deletion === undefined ? [] : [deletion];
  });
}

/** The RETURNING clauses of a statement. */
function returned(tree: Node): unknown[] {
  return walk(tree).flatMap((node) =>
    node["returningClause"] === undefined ? [] : [node["returningClause"]],
  );
}

interface Select {
  fromClause?: unknown;
  valuesLists?: unknown;
}

interface Insert {
  relation: { relname: string };
  cols?: readonly { ResTarget: { name: string } }[];
  selectStmt?: { SelectStmt?: Select };
}

function inserts(tree: Node): Insert[] {
  return walk(tree).flatMap((node) => (node["InsertStmt"] as Insert | undefined) ?? []);
}

/** The SELECT or VALUES of each INSERT in a statement. */
function inserted(tree: Node): Select[] {
  return inserts(tree).flatMap(({ selectStmt }) => selectStmt?.SelectStmt ?? []);
}

/**
 * Whether a statement calls `nextval` also when cells are on several servers, each of which has its own range of the sequence.
 * Only `case when positions_by_clock() then … else nextval(…) end` does not.
 */
function drawsNumber(statement: Statement): boolean {
  const tree = treeOf(statement);
  if (tree === undefined) return false;
  const draws = (part: unknown): number =>
    walk(part).filter((node) => calledFunction(node) === "nextval").length;
  const others = walk(tree).flatMap((node) => {
    const choice = node["CaseExpr"] as { args: { CaseWhen: { expr: Node } }[]; defresult?: Node } | undefined;
    const isByPlace =
      choice?.args.some(({ CaseWhen: { expr } }) => calledFunction(expr) === "positions_by_clock") ?? false;
    return isByPlace && choice?.defresult !== undefined ? [choice.defresult] : [];
  });
  return draws(tree) > others.reduce((sum, other) => sum + draws(other), 0);
}

/** The values that an update sets; for `set (a, b) = (…)`, each of the values. */
function assigned(node: Node): Node[] {
  const update = (node["UpdateStmt"] ?? node["onConflictClause"]) as Update | undefined;
  return (update?.targetList ?? []).flatMap(({ ResTarget: { val } }) => {
    if (val === undefined) return [];
    const several = (val["MultiAssignRef"] as { source?: { RowExpr?: { args: Node[] } } } | undefined)
      ?.source;
    return several?.RowExpr?.args ?? [val];
  });
}

function endsWithSubscript(value: Node): boolean {
  const cast = value["TypeCast"] as { arg: Node } | undefined;
  if (cast !== undefined) return endsWithSubscript(cast.arg);
  const indirection = (value["A_Indirection"] as { indirection: Node[] } | undefined)?.indirection;
  return indirection?.at(-1)?.["A_Indices"] !== undefined;
}

function calledFunction(node: Node): string | undefined {
  const names = (node["FuncCall"] as { funcname: { String: { sval: string } }[] } | undefined)?.funcname;
  return names?.at(-1)?.String.sval;
}

function isCtid(node: Node): boolean {
  const fields = (node["ColumnRef"] as { fields: { String?: { sval: string } }[] } | undefined)?.fields;
  return fields?.at(-1)?.String?.sval === "ctid";
}

function isModifyingCte(node: Node): boolean {
  const query = (node["CommonTableExpr"] as { ctequery: Node } | undefined)?.ctequery;
  if (query === undefined) return false;
  return ["InsertStmt", "UpdateStmt", "DeleteStmt", "MergeStmt"].some((kind) => kind in query);
}

/** The places of the tables that a statement names. */
function placesOf(
  { text }: Statement,
  tree: Node | undefined,
  places: Surroundings["places"],
): Set<TablePlace> {
  const names = tree === undefined ? namesInText(text) : namesInTree(tree);
  return new Set(names.flatMap((name) => places.get(name) ?? []));
}

function namesInTree(tree: Node): string[] {
  const all = walk(tree);
  // A CTE hides a table with the same name.
  const hidden = new Set(
    all.map((node) => (node["CommonTableExpr"] as { ctename: string } | undefined)?.ctename),
  );
  return all
    .flatMap((node) => [node["RangeVar"], node["relation"]] as ({ relname?: string } | undefined)[])
    .flatMap((range) => range?.relname ?? [])
    .filter((name) => !hidden.has(name));
}

function namesInText(text: string): string[] {
  const inSql = text.matchAll(/\b(?:from|join|into|update|using)\s+(?:only\s+)?([a-z_]+)/g);
  const inBuilder = text.matchAll(/(?:From|Into|Table|Join|from|using)\(\s*"([a-z_]+)(?: as [a-z_]+)?"/g);
  return [...inSql, ...inBuilder].map(([, name]) => name!);
}
