import { readdirSync, readFileSync } from "node:fs";
import type pg from "pg";
import { functionSchema } from "../src/postgres/functionSchema.ts";

interface FunctionRow {
  name: string;
  /** Null when the function has no named parameters. */
  argument_names: string[] | null;
  argument_modes: string[] | null;
  argument_types: string[];
  result_type: string;
}

interface CompositeRow {
  name: string;
  fields: string[];
  types: string[];
}

/**
 * The text of `functions.generated.ts`: the parameters and columns of every SQL function that TypeScript calls, read from the
 * catalogue of a database in which this version's functions are installed.
 */
export async function functionSignatures(client: pg.Pool | pg.ClientBase): Promise<string> {
  const { rows: functions } = await client.query<FunctionRow>(
    `select
       p.proname as name,
       p.proargnames as argument_names,
       p.proargmodes::text[] as argument_modes,
       array(
         select t.typname::text
         from unnest(coalesce(p.proallargtypes, p.proargtypes::oid[])) with ordinality as a (type, number)
         join pg_type t on t.oid = a.type
         order by a.number
       ) as argument_types,
       r.typname::text as result_type
     from pg_proc p
     join pg_type r on r.oid = p.prorettype
     where p.pronamespace = $1::regnamespace
       and p.proname = any ($2::text[])
     order by p.proname collate "C"`,
    [functionSchema, wordsOfCode()],
  );
  const { rows: composites } = await client.query<CompositeRow>(
    `select
       c.relname as name,
       array_agg(a.attname::text order by a.attnum) as fields,
       array_agg(t.typname::text order by a.attnum) as types
     from pg_class c
     join pg_attribute a on a.attrelid = c.oid and a.attnum > 0
     join pg_type t on t.oid = a.atttypid
     where c.relnamespace = $1::regnamespace
       and c.relkind = 'c'
     group by c.relname
     order by c.relname collate "C"`,
    [functionSchema],
  );
  const given = new Set(
    functions.flatMap(({ argument_types, result_type }) => [...argument_types, result_type]),
  );
  return [
    "// Made by `npm run generated` from the catalogue of a database with this version's functions.",
    "",
    "/** The fields of composite columns, in their order. */",
    "export const composites = {",
    ...composites.filter(({ name }) => given.has(name)).map(compositeText),
    "} as const;",
    "",
    "/** The parameters and columns of each SQL function. */",
    "export const functions = {",
    ...functions.map(functionText),
    "} as const;",
    "",
  ].join("\n");
}

/** The words of the service's TypeScript, among them the names of all functions that it calls. */
function wordsOfCode(): string[] {
  const folder = new URL("../src/", import.meta.url);
  const files = readdirSync(folder, { encoding: "utf8", recursive: true }).filter(
    (path) => path.endsWith(".ts") && !/\.(test|generated)\.ts$/.test(path),
  );
  return [
    ...new Set(files.flatMap((path) => readFileSync(new URL(path, folder), "utf8").match(/\w+/g) ?? [])),
  ];
}

function compositeText({ name, fields, types }: CompositeRow): string {
  const pairs = fields.map((field, index): [string, string] => [field, types[index]!]);
  return `  ${name}: ${objectText(pairs)},`;
}

function functionText(row: FunctionRow): string {
  const names = row.argument_names ?? [];
  const all = row.argument_types.map((type, index) => ({
    name: names[index]!,
    type,
    isOut: "ot".includes(row.argument_modes?.[index] ?? "i"),
  }));
  const pairs = (isOut: boolean): [string, string][] =>
    all.filter((one) => one.isOut === isOut).map(({ name, type }) => [name, type]);
  const out = pairs(true);
  const columns: [string, string][] = out.length > 0 ? out : [[row.name, row.result_type]];
  return [
    `  ${row.name}: {`,
    `    parameters: ${objectText(pairs(false))},`,
    `    columns: ${objectText(columns)},`,
    "  },",
  ].join("\n");
}

/** An object literal of names and types. In the catalogue, an array type is named after its element type, with a leading `_`. */
function objectText(pairs: readonly (readonly [string, string])[]): string {
  if (pairs.length === 0) return "{}";
  const typeText = (type: string): string => (type.startsWith("_") ? `${type.slice(1)}[]` : type);
  return `{ ${pairs.map(([name, type]) => `${name}: "${typeText(type)}"`).join(", ")} }`;
}
