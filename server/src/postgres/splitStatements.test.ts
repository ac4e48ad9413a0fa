import { parseSync, loadModule } from "libpg-query";
import { expect, it } from "vitest";
import { migrations } from "./migrations.ts";
import { splitStatements } from "./applyMigrations.ts";

it("semicolons in quotes and comments do not end a statement", () => {
  const statements = [
    "select 'a;''b;'",
    `select e'\\';', "x;""y"`,
    "-- one; two\ncreate table t (a text default ';')",
    "do $$ begin perform 1; end $$",
    "do $x$ begin perform $$;$$; end $x$",
    "/* a; b */ select 1",
  ];
  expect(splitStatements(`${statements.join(";\n")};\n-- the end;\n`)).toEqual(statements);
});

it("every migration is split into the statements that PostgreSQL's parser finds", async () => {
  await loadModule();
  for (const { name, text } of migrations) {
    const parts = splitStatements(text);
    const parsed = (sql: string): number => (parseSync(sql) as { stmts: unknown[] }).stmts.length;
    expect({ name, each: parts.map(parsed) }).toEqual({ name, each: parts.map(() => 1) });
    expect({ name, count: parts.length }).toEqual({ name, count: parsed(text) });
  }
});
