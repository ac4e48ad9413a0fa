import type { TableShape } from "./tableShape.ts";

/** The schemas from which and to which tables are copied, as SQL writes their names. */
export interface Copy {
  home: string;
  schema: string;
}

type Shapes = ReadonlyMap<string, TableShape>;

/** Statements in the order in which to run them. Rows may be copied after `tables`, before `keys`. */
interface Additions {
  tables: string[];
  /** Constraints and indexes. */
  keys: string[];
}

/**
 * The statements that add missing tables, columns, constraints and indexes to a schema. Existing objects that differ, or that
 * `wanted` does not have, stay as they are.
 */
export function additionsTo(copy: Copy, wanted: Shapes, present: Shapes): Additions {
  const each = (add: (table: string, shape: TableShape, found?: TableShape) => string[]): string[] =>
    [...wanted].flatMap(([table, shape]) => add(table, shape, present.get(table)));
  return {
    tables: each((table, shape, found) =>
      found ? newColumns(copy, table, shape, found) : newTable(copy, table, shape),
    ),
    keys: [
      // Referenced constraints come before foreign keys.
      ...each((table, shape, found) => newConstraints(copy, table, shape, found).own),
      ...each((table, shape, found) => newConstraints(copy, table, shape, found).foreign),
      ...each((table, shape, found) => newIndexes(copy, table, shape, found)),
    ],
  };
}

/**
 * The statements that restore what a table lost when it was created again: its replica identity, and the statistics targets
 * of its columns.
 */
export function settingsLost(schema: string, wanted: Shapes, present: Shapes): string[] {
  return [...present].flatMap(([table, found]) => {
    const name = `${schema}.${table}`;
    const shape = wanted.get(table);
    const identity = shape?.identity === "f" && found.identity !== "f" ? [fullIdentity(name)] : [];
    const statistics = [...(shape?.columns ?? [])].flatMap(([column, { statistics: target }]) =>
      found.columns.get(column)?.statistics === target ? [] : setStatistics(name, column, target),
    );
    return identity.concat(statistics);
  });
}

function newTable({ home, schema }: Copy, table: string, shape: TableShape): string[] {
  const { partitionKey, options, identity } = shape;
  const name = `${schema}.${table}`;
  const partitions = partitionKey === null ? "" : ` partition by ${partitionKey}`;
  const storage = options.length === 0 ? "" : ` with (${options.join(", ")})`;
  // `like` copies CHECK constraints only; other constraints and the indexes are added later, under their own names.
  const create = `create table ${name} (like ${home}.${table} including all excluding indexes)${partitions}${storage}`;
  const statistics = [...shape.columns].flatMap(([column, { statistics: target }]) =>
    setStatistics(name, column, target),
  );
  return [create, ...statistics, ...(identity === "f" ? [fullIdentity(name)] : [])];
}

function fullIdentity(name: string): string {
  return `alter table ${name} replica identity full`;
}

function newColumns({ schema }: Copy, table: string, shape: TableShape, found: TableShape): string[] {
  const name = `${schema}.${table}`;
  const statements: string[] = [];
  for (const [column, { declaration, statistics }] of shape.columns) {
    if (found.columns.has(column)) continue;
    statements.push(`alter table ${name} add column ${column} ${declaration}`);
    statements.push(...setStatistics(name, column, statistics));
  }
  return statements;
}

function setStatistics(name: string, column: string, target: number): string[] {
  return target === -1 ? [] : [`alter table ${name} alter column ${column} set statistics ${target}`];
}

function newConstraints(
  { schema }: Copy,
  table: string,
  shape: TableShape,
  found: TableShape | undefined,
): { own: string[]; foreign: string[] } {
  const own: string[] = [];
  const foreign: string[] = [];
  for (const [constraint, text] of shape.constraints) {
    const isCopied = found === undefined && text.startsWith("CHECK");
    if (isCopied || found?.constraints.has(constraint)) continue;
    const list = text.startsWith("FOREIGN") ? foreign : own;
    list.push(`alter table ${schema}.${table} add constraint ${constraint} ${text}`);
  }
  return { own, foreign };
}

function newIndexes(
  { schema }: Copy,
  table: string,
  shape: TableShape,
  found: TableShape | undefined,
): string[] {
  return [...shape.indexes].flatMap(([index, { isUnique, text }]) =>
    found?.indexes.has(index)
      ? []
      : [`create ${isUnique ? "unique " : ""}index ${index} on ${schema}.${table} ${text}`],
  );
}
