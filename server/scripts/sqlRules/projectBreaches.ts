import { readFileSync } from "node:fs";
import { glob } from "node:fs/promises";
import { join } from "node:path";
import type pg from "pg";
import { functionSchema } from "../../src/postgres/functionSchema.ts";
import { baseline, migrations } from "../../src/postgres/migrations.ts";
import { tablePlaces } from "../../src/postgres/tablePlaces.ts";
import { migrationBreaches } from "./migrationRules.ts";
import { numberedColumns, schemaBreaches } from "./schemaRules.ts";
import {
  type Breach,
  functionBreaches,
  readingFunctions,
  statementBreaches,
  type Surroundings,
} from "./statementRules.ts";
import { type InstalledFunction, sourceStatements } from "./statements.ts";

const source = join(import.meta.dirname, "../../src");

/**
 * All breaches of the rules of cells: in migrations, in a migrated database's tables and functions, and in the service's
 * statements.
 */
export async function projectBreaches(client: pg.ClientBase): Promise<Breach[]> {
  const { rows } = await client.query<InstalledFunction>(
    `select p.proname as name, l.lanname as language, pg_get_functiondef(p.oid) as definition
     from pg_proc p
     join pg_language l on l.oid = p.prolang
     where p.pronamespace = $1::regnamespace`,
    [functionSchema],
  );
  const surroundings: Surroundings = {
    places: tablePlaces,
    volatile: await functionsThatAre(client, ["v"]),
    mutable: await functionsThatAre(client, ["v", "s"]),
    reading: readingFunctions(rows, tablePlaces),
    numbered: await numberedColumns(client),
  };
  const later = migrations.filter(({ version }) => version > baseline.version);
  const found = [
    ...later.flatMap((migration) => migrationBreaches(migration, tablePlaces)),
    ...(await schemaBreaches(client, tablePlaces)),
    ...rows.flatMap((installed) => functionBreaches(installed, surroundings)),
    ...(await sourceBreaches(surroundings)),
  ];
  const unique = new Map(found.map((breach) => [`${breach.place}: ${breach.rule}`, breach]));
  return [...unique.values()];
}

async function sourceBreaches(surroundings: Surroundings): Promise<Breach[]> {
  const breaches: Breach[] = [];
  for await (const path of glob("**/*.ts", { cwd: source })) {
    if (/\.(test|generated)\.ts$/.test(path)) continue;
    const text = readFileSync(join(source, path), "utf8");
    const statements = sourceStatements(path.replaceAll("\\", "/"), text);
    breaches.push(...statements.flatMap((statement) => statementBreaches(statement, surroundings)));
  }
  return breaches;
}

/** Names of those functions of PostgreSQL and of the service that have one of the given volatilities. */
async function functionsThatAre(
  client: pg.ClientBase,
  volatilities: readonly string[],
): Promise<Set<string>> {
  const { rows } = await client.query<{ name: string }>(
    `select distinct p.proname as name
     from pg_proc p
     where p.provolatile = any ($2)
       and p.pronamespace in ('pg_catalog'::regnamespace, $1::regnamespace)`,
    [functionSchema, volatilities],
  );
  return new Set(rows.map(({ name }) => name));
}
