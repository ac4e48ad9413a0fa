import { parseSync } from "libpg-query";
import type { Migration } from "../../src/postgres/migrations.ts";
import type { TablePlace } from "../../src/postgres/tablePlaces.ts";
import type { Breach } from "./statementRules.ts";
import { walk } from "./statements.ts";

/** The changes of a table that Citus makes on every server that has a copy of it, by the parser's names. It refuses all others. */
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
 * The changes that a migration would make to a table which every server has a copy of once Citus has placed the cells, and that Citus
 * refuses: the migration would end the start. A statistics target is one of them. The baseline is for empty databases, which have no copies.
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
