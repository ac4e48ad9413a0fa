import type pg from "pg";
import { cellSchemaPattern } from "./cells.ts";
import { hasCitus } from "./ensureCells.ts";
import { SchemaError } from "./migrations.ts";
import { type TablePlace, tablePlaces } from "./tablePlaces.ts";

/** How far the cells of a database are on servers of their own, as Citus' catalogue has it. */
export interface Distribution {
  /** Schemas of cells on a server of their own, in order. */
  distributed: string[];
  /** Schemas of cells that are on the coordinator. */
  local: string[];
  /** Reference tables of which no copy is on every server. */
  uncopied: string[];
}

/** The tables of a place, each after those that it refers to. */
export function tablesIn(place: TablePlace): string[] {
  return [...tablePlaces].filter(([, its]) => its === place).map(([table]) => table);
}

/** The session finds the tables of the control plane. Undefined where the database has no Citus. */
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

/** Whether all cells are on servers of their own, or none, with everything that belongs to it. In between the service cannot work. */
export function isComplete({ distributed, local, uncopied }: Distribution): boolean {
  if (distributed.length > 0) return local.length === 0 && uncopied.length === 0;
  return uncopied.length === tablesIn("reference").length;
}

/** @throws {SchemaError} when a distribution of the cells, or the way back, was broken off. */
export async function refuseHalfDistributed(client: pg.ClientBase): Promise<void> {
  const found = await readDistribution(client);
  if (found === undefined || isComplete(found)) return;
  throw new SchemaError(
    "the cells were being distributed over servers, or brought back, and the command was interrupted: run postrider db distribute --yes " +
      "or postrider db undistribute --yes to its end",
  );
}
