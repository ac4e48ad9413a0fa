import { parseSync } from "libpg-query";
import type { Migration } from "../../src/postgres/migrations.ts";
import type { TablePlace } from "../../src/postgres/tablePlaces.ts";
import type { Breach } from "./statementRules.ts";
import { walk } from "./statements.ts";

/** The parser's names of those table changes that Citus makes on all copies of a reference table. It refuses all others. */
const copiedChanges: ReadonlySet<string> = new Set([
  "AT_AddColumn",
  "AT_DropColumn",
  "AT_SetNotNull",
  "AT_DropNotNull",
  "AT_ColumnDefault",
  "AT_AlterColumnType",
  "AT_AddConstraint",
  "AT_DropConstraint",
  "AT_ValidateConstraint",
  "AT_SetRelOptions",
  "AT_ResetRelOptions",
]);

interface Alteration {
  relation?: { relname: string };
  cmds?: readonly { AlterTableCmd?: { subtype?: string } }[];
}

/**
 * Finds a migration's changes of reference tables that Citus refuses, for example of a statistics target: when Citus has placed
 * the cells, each server has a copy of every reference table, and with such a migration the service could not start. The baseline
 * is not checked, because it is for empty databases, which have no copies.
 */
export function migrationBreaches(
  { name, text }: Pick<Migration, "name" | "text">,
  places: ReadonlyMap<string, TablePlace>,
): Breach[] {
  const rules = walk(parseSync(text)).flatMap((node) => {
    const { relation, cmds = [] } = (node["AlterTableStmt"] ?? {}) as Alteration;
    if (relation === undefined || places.get(relation.relname) !== "reference") return [];
    return cmds
      .map(({ AlterTableCmd: change }) => change?.subtype ?? "none")
      .filter((change) => !copiedChanges.has(change))
      .map((change) => `changes the copied table ${relation.relname} by ${change}, which Citus refuses`);
  });
  return rules.map((rule) => ({ rule, place: name }));
}
