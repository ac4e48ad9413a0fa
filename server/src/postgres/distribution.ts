import type pg from "pg";
import { cellSchemaPattern } from "./cells.ts";
import { hasCitus } from "./ensureCells.ts";
import { SchemaError } from "./migrations.ts";
import { type TablePlace, tablePlaces } from "./tablePlaces.ts";

/** Which cells and reference tables Citus has distributed, according to its catalogue. */
export interface Distribution {
  /** Schemas of cells on a server of their own, in order. */
  distributed: string[];
  /** Schemas of cells that are on the coordinator. */
  local: string[];
  /** Reference tables that are not copied to every server. */
  uncopied: string[];
}

/** The tables of a place, each after the tables that it refers to. */
export function tablesIn(place: TablePlace): string[] {
  return [...tablePlaces].filter(([, its]) => its === place).map(([table]) => table);
}

/** The session's search path contains the control plane. Returns undefined when the database has no Citus. */
export async function readDistribution(client: pg.ClientBase): Promise<Distribution | undefined> {
  if (!(await hasCitus(client))) return undefined;
  const schemas = await client.query<{ name: string; is_distributed: boolean }>(
    `select n.nspname as name, d.schemaid is not null as is_distributed
     from pg_namespace n
     left join pg_dist_schema d on d.schemaid = n.oid
     where n.nspname ~ $1
     order by name`,
    [cellSchemaPattern],
  );
  const uncopied = await client.query<{ name: string }>(
    `select t.name
     from unnest($1::text[]) with ordinality as t (name, place)
     where not exists (
       select from pg_dist_partition p where p.logicalrelid = to_regclass(t.name) and p.repmodel = 't'
     )
     order by t.place`,
    [tablesIn("reference")],
  );
  const named = (isDistributed: boolean): string[] =>
    schemas.rows.filter((one) => one.is_distributed === isDistributed).map(({ name }) => name);
  return { distributed: named(true), local: named(false), uncopied: uncopied.rows.map(({ name }) => name) };
}

/**
 * Whether all cells are distributed, or none is, and the reference tables accordingly. In any other state the service cannot
 * work.
 */
export function isComplete({ distributed, local, uncopied }: Distribution): boolean {
  if (distributed.length > 0) return local.length === 0 && uncopied.length === 0;
  return uncopied.length === tablesIn("reference").length;
}

/** @throws {SchemaError} when `distribute` or `undistribute` was interrupted. */
export async function refuseHalfDistributed(client: pg.ClientBase): Promise<void> {
  const found = await readDistribution(client);
  if (found === undefined || isComplete(found)) return;
  throw new SchemaError(
    "the cells were being distributed over servers, or brought back, and the command was interrupted: run postrider db distribute --yes " +
      "or postrider db undistribute --yes to its end",
  );
}
