import type pg from "pg";
import { expect } from "vitest";
import { tablePlaces } from "../../src/postgres/tablePlaces.ts";
import { databaseTest, file } from "../../test/support/fixtures.ts";
import { allowedBreaches } from "./allowedBreaches.ts";
import { migrationBreaches } from "./migrationRules.ts";
import { projectBreaches } from "./projectBreaches.ts";
import { numberedColumns, schemaBreaches } from "./schemaRules.ts";
import { functionBreaches, statementBreaches } from "./statementRules.ts";
import { sourceStatements } from "./statements.ts";

const it = databaseTest({ poolSize: 1 }).extend("client", file, async ({ pool }, { onCleanup }) => {
  const client = await pool.connect();
  onCleanup(() => client.release());
  return client;
});

it("the service's SQL follows the rules of cells, except for the listed breaches", async ({ client }) => {
  const found = (await projectBreaches(client)).map(({ place, rule }) => `${place}: ${rule}`);
  const listed = allowedBreaches.flatMap(({ rule, places }) => places.map((place) => `${place}: ${rule}`));
  expect(found.filter((one) => !listed.includes(one))).toEqual([]);
  expect(
    listed.filter((one) => !found.includes(one)),
    "no longer broken: take it off the list",
  ).toEqual([]);
});

it("tablePlaces.ts lists exactly the tables that exist", async ({ client }) => {
  const { rows } = await client.query<{ name: string }>(
    `select c.relname as name
     from pg_class c
     where c.relnamespace = (select relnamespace from pg_class where oid = 'events'::regclass)
       and c.relkind in ('r', 'p')
       and not c.relispartition`,
  );
  expect(rows.map(({ name }) => name).toSorted()).toEqual([...tablePlaces.keys()].toSorted());
});

/** Statements by the rule that they break. Each is used as the body of a PL/pgSQL function. */
const plantedStatements: Record<string, string> = {
  "sets a column to an element or slice of an array":
    "update deliveries d set event_ids = d.event_ids[2:] where d.bucket = 1",
  "calls a volatile function in an update or a delete":
    "update deliveries d set due_at = extract(epoch from clock_timestamp()) where d.bucket = 1",
  "returns what a function that is not immutable gives":
    "delete from deliveries d where d.bucket = 1 returning json_build_object('id', d.id) into strict p_x",
  "uses ctid beside an insert":
    "with old as (select d.ctid, d.id from deliveries d) insert into erased_digests (bucket, event_id) select 1, id from old where ctid is not null",
  "calls a function that reads tables beside a table":
    "perform reads_events(d.id) from deliveries d where d.bucket = 1",
  "inserts what it selects from a table of a cell":
    "insert into erased_digests (bucket, event_id) select e.bucket, e.id from events e",
  "leaves a column to its sequence":
    "insert into messages (bucket, mailbox_id, id) values (1, p_mailbox, p_id)",
  "draws from a sequence":
    "insert into messages (bucket, mailbox_id, id, position) values (1, p_mailbox, p_id, nextval('message_positions'))",
  "changes a copied table by more than its keys":
    "update targets set enabled = false where id = p_id and enabled",
  "has a subquery in VALUES":
    "insert into erased_digests (bucket, event_id) values (1, (select t.id from targets t))",
  "has several modifying CTEs":
    "with a as (delete from deliveries returning id), b as (delete from events returning id) select from a, b into strict p_x",
  "joins data plane and local tables": "perform from events e join users u on u.org_id = e.org_id",
};

const surroundings = {
  places: tablePlaces,
  volatile: new Set<string>(),
  reading: new Set<string>(),
  mutable: new Set<string>(),
  numbered: new Map([["messages", ["position"]]]),
};

for (const [rule, statement] of Object.entries(plantedStatements))
  it(`sees a function that ${rule}`, () => {
    const volatile = new Set(["clock_timestamp"]);
    const reading = new Set(["reads_events"]);
    const definition = `create function planted(p_x integer) returns void language plpgsql as $$ begin ${statement}; end $$`;
    const found = functionBreaches(
      { name: "planted", language: "plpgsql", definition },
      { ...surroundings, volatile, reading, mutable: new Set(["json_build_object"]) },
    );
    const alsoLocal = rule.startsWith("joins") ? ["a function of the data plane uses a local table"] : [];
    expect(found.map((breach) => breach.rule)).toEqual([rule, ...alsoLocal]);
  });

it("finds a breach in each form in which it can be written", () => {
  const volatile = new Set(["gen_random_uuid"]);
  const rulesOf = (text: string): string[] =>
    statementBreaches({ place: "planted", text, isBuilder: false }, { ...surroundings, volatile }).map(
      ({ rule }) => rule,
    );
  const element = "sets a column to an element or slice of an array";
  expect(rulesOf("update messages set (state, position) = ($1, (array[1, 2])[1])")).toEqual([element]);
  expect(rulesOf("update messages set position = ($1::bigint[])[2]::bigint")).toEqual([element]);
  expect(
    rulesOf(
      "insert into usage_totals (org_id) values ($1) on conflict (org_id) do update set items = ($2::bigint[])[1]",
    ),
  ).toEqual([element]);
  expect(
    rulesOf("with a as (update targets set id = gen_random_uuid() returning id) select id from a"),
  ).toEqual(["calls a volatile function in an update or a delete"]);
  expect(rulesOf("update messages set position = coalesce(($1::bigint[])[2], 0)")).toEqual([]);
  expect(rulesOf("update users set id = gen_random_uuid()")).toEqual([]);
});

it("finds a SQL-language function that reads the data plane, and a function whose statements use tables of two places", () => {
  const ofSql = "create function planted() returns bigint language sql as $$ select count(*) from events $$";
  expect(functionBreaches({ name: "planted", language: "sql", definition: ofSql }, surroundings)).toEqual([
    { place: "planted", rule: "a function of language SQL reads the data plane" },
  ]);
  const mixed =
    "create function planted() returns void language plpgsql as $$ begin delete from events; delete from users; end $$";
  expect(functionBreaches({ name: "planted", language: "plpgsql", definition: mixed }, surroundings)).toEqual(
    [{ place: "planted", rule: "a function of the data plane uses a local table" }],
  );
});

it("finds statements in TypeScript: in strings, in template literals with values, and in chains of the query builder", () => {
  const sources = [
    'query("select 1 from events e, users u")',
    "query(`\n  select 1 from events e join users u on u.id = ${`x${1}`} `)",
    "query(`select ${columns} from events e join users u ${rest}`)",
    'await queries.selectFrom("events as e").innerJoin("users", "users.org_id", "e.org_id").execute();',
  ];
  for (const source of sources)
    expect(
      sourceStatements("planted.ts", source).flatMap((one) => statementBreaches(one, surroundings)),
      source,
    ).toContainEqual({ place: "planted.ts", rule: "joins data plane and local tables" });
  const apart = 'queries.selectFrom("events").execute(); queries.selectFrom("users").execute();';
  expect(
    sourceStatements("planted.ts", apart).flatMap((one) => statementBreaches(one, surroundings)),
  ).toEqual([]);
});

it("finds columns with a sequence, and allows nextval where it is called only on a single PostgreSQL", async ({
  client,
}) => {
  await client.query("begin");
  try {
    await client.query(
      "create sequence planted; alter table customers alter column uid set default nextval('planted')",
    );
    await client.query("alter table users add planted integer generated always as identity");
    expect([...(await numberedColumns(client))]).toEqual(
      expect.arrayContaining([...surroundings.numbered, ["customers", ["uid"]], ["users", ["planted"]]]),
    );
  } finally {
    await client.query("rollback");
  }
  const rulesOf = (position: string): string[] =>
    functionBreaches(
      {
        name: "planted",
        language: "plpgsql",
        definition: `create function planted() returns void language plpgsql as $$ begin
          insert into messages (bucket, position) values (1, ${position}); end $$`,
      },
      surroundings,
    ).map(({ rule }) => rule);
  expect(rulesOf("case when positions_by_clock() then 1 else nextval('message_positions') end")).toEqual([]);
  const drawn = ["draws from a sequence"];
  expect(rulesOf("case when positions_by_clock() then nextval('message_positions') else 1 end")).toEqual(
    drawn,
  );
  expect(rulesOf("case when now() is null then 1 else nextval('message_positions') end")).toEqual(drawn);
});

it("finds a migration that changes a reference table in a way that Citus refuses, and allows other changes", () => {
  const rulesOf = (text: string): string[] =>
    migrationBreaches({ name: "planted.sql", text }, tablePlaces).map(({ rule }) => rule);
  const refused = (change: string): string =>
    `changes the copied table targets by ${change}, which Citus refuses`;
  expect(
    rulesOf("alter table targets add column planted text, alter column planted set statistics 0"),
  ).toEqual([refused("AT_SetStatistics")]);
  expect(rulesOf("select 1; alter table targets alter column uid set storage plain")).toEqual([
    refused("AT_SetStorage"),
  ]);
  expect(rulesOf("alter table targets add column planted text not null default ''")).toEqual([]);
  // A cell's tables are created from the control plane's, without statistics targets; local tables have no copies.
  expect(rulesOf("alter table events alter column id set statistics 0")).toEqual([]);
  expect(rulesOf("alter table users alter column id set statistics 0")).toEqual([]);
});

/** Changes of tables, by the rule that each breaks. */
const plantedTables: Record<string, string> = {
  "has no replica identity": "alter table open_circuits drop constraint open_circuits_pkey",
  "the foreign key planted leads to replays":
    "alter table sessions add replay_id uuid constraint planted references replays",
  "the foreign key planted leads to users":
    "alter table events add user_id uuid constraint planted references users",
  "is missing in tablePlaces.ts": "create table public.planted (id uuid primary key)",
};

for (const [rule, statement] of Object.entries(plantedTables))
  it(`sees in the catalogue: ${rule}`, async ({ client }) => {
    const before = await rules(client);
    await client.query("begin");
    try {
      await client.query(statement);
      expect((await rules(client)).filter((one) => !before.includes(one))).toContainEqual(
        expect.stringContaining(`: ${rule}`),
      );
    } finally {
      await client.query("rollback");
    }
  });

async function rules(client: pg.ClientBase): Promise<string[]> {
  return (await schemaBreaches(client, tablePlaces)).map(({ place, rule }) => `${place}: ${rule}`);
}
