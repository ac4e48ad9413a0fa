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
  const each = <T>(add: (name: string, shape: TableShape, found?: TableShape) => T[]): T[] =>
    [...wanted].flatMap(([table, shape]) => add(`${copy.schema}.${table}`, shape, present.get(table)));
  const constraints = each(newConstraints);
  const textsOf = (isForeign: boolean): string[] =>
    constraints.filter((one) => one.isForeign === isForeign).map(({ text }) => text);
  return {
    tables: [...wanted].flatMap(([table, shape]) => {
      const found = present.get(table);
      return found ? newColumns(`${copy.schema}.${table}`, shape, found) : newTable(copy, table, shape);
    }),
    // Referenced constraints come before foreign keys.
    keys: [...textsOf(false), ...textsOf(true), ...each(newIndexes)],
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

function newColumns(name: string, shape: TableShape, found: TableShape): string[] {
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
  name: string,
  shape: TableShape,
  found?: TableShape,
): { text: string; isForeign: boolean }[] {
  return [...shape.constraints].flatMap(([constraint, definition]) => {
    const isCopied = found === undefined && definition.startsWith("CHECK");
    if (isCopied || found?.constraints.has(constraint)) return [];
    const text = `alter table ${name} add constraint ${constraint} ${definition}`;
    return [{ text, isForeign: definition.startsWith("FOREIGN") }];
  });
}

function newIndexes(name: string, shape: TableShape, found?: TableShape): string[] {
  return [...shape.indexes].flatMap(([index, { isUnique, text }]) =>
    found?.indexes.has(index) ? [] : [`create ${isUnique ? "unique " : ""}index ${index} on ${name} ${text}`],
  );
}
