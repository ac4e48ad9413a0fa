import { expect } from "vitest";
import { keysToReference } from "../src/postgres/placement/distribute.ts";
import { tablesIn } from "../src/postgres/distribution.ts";
import { runDatabaseCommand } from "./support/databaseCommand.ts";
import { stageTest } from "./support/fixtures.ts";
import { someKey } from "./support/program.ts";

/* Refusals of the placement commands without Citus; the project `citus` of vitest.config.ts runs the commands. */

const it = stageTest.extend(
  "command",
  ({ database }) =>
    (words: string) =>
      runDatabaseCommand(["db", ...words.split(" ")], {
        DATABASE_URL: database.url,
        POSTRIDER_ENCRYPTION_KEY: someKey,
      }),
);

it.for([
  ["distribute", "this moves all items to the workers of Citus, while no service may run: add --yes"],
  ["undistribute", "this moves all items back to the coordinator, while no service may run: add --yes"],
  ["distribute --yes now", 'unexpected argument "now"'],
  ["--json --yes distribute now", 'unexpected argument "now"'],
  ["worker", "use postrider db worker add or postrider db worker drain"],
  ["worker remove a", "use postrider db worker add or postrider db worker drain"],
  ["worker add", "<host[:port]> is missing"],
  ["worker add a:0", '"a:0" is no server: write host or host:port'],
  ["worker add a:65536", '"a:65536" is no server'],
  ["worker drain user@a", '"user@a" is no server'],
  ["worker add ::1", '"::1" is no server'],
  ["move-cell", "<cell> is missing"],
  ["move-cell 1", "<host[:port]> is missing"],
  ["move-cell first a", '"first" is not the number of a cell'],
] as const)("%s: %s", async ([words, message]) => {
  const ended = await runDatabaseCommand(["db", ...words.split(" ")], {});
  expect(ended).toMatchObject({ code: 2, err: expect.stringContaining(message) });
});

it("a database without Citus is refused with instructions to install it", async ({ command }) => {
  for (const words of [
    "distribute --yes",
    "undistribute --yes",
    "worker add a",
    "worker drain [::1]:5433 --remove",
    "move-cell 0 a:5433",
  ]) {
    expect(await command(words)).toMatchObject({
      code: 5,
      err: expect.stringMatching(
        /has no Citus: install Citus 12 .* create extension citus .* postrider db worker add/,
      ),
    });
  }
});

it("the foreign keys that an undistribution recreates equal those of the migrations", async ({ pool }) => {
  const { rows } = await pool.query(
    `select c.relname as table, k.conname as name, pg_get_constraintdef(k.oid) as definition
     from pg_constraint k
     join pg_class c on c.oid = k.conrelid
     where k.contype = 'f'
       and c.oid = any ($1::regclass[])
       and k.confrelid = any ($2::regclass[])`,
    [tablesIn("local"), tablesIn("reference")],
  );
  const inOrder = (keys: readonly { name: string }[]): unknown[] =>
    keys.toSorted((one, other) => (one.name < other.name ? -1 : 1));
  expect(inOrder(rows)).toEqual(inOrder(keysToReference));
});
