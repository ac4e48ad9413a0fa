import { expect, it } from "vitest";
import { storageProblems } from "./storageTests.ts";

const listed = ["rows-are-stored"];
const storageTest = { path: "server/test/rows-are-stored.test.ts", text: 'await pool.query("select 1");' };

function problemsOf(path: string, text: string): string[] {
  return storageProblems([storageTest, { path, text }], listed);
}

it.each([
  'const { rows } = await node.pool.query("select id from events");',
  "const { rows } = await pool.query<{ id: string }>(statement);",
  "await client.query(`begin`);",
  'await query(connection, "select 1");',
  "      .query(statement)",
])("a test of a promise must not send SQL: %s", (line) => {
  const problems = problemsOf("server/test/items-arrive.test.ts", `import x from "y";\n${line}\n`);
  expect(problems).toEqual([expect.stringMatching(/^server\/test\/items-arrive\.test\.ts:2: tests use/)]);
});

it.each([
  ["server/test/items-arrive.test.ts", "const { limit } = request.query;"],
  ["server/test/items-arrive.test.ts", 'await countRows(node.pool, "sessions");'],
  ["server/test/support/unseenRows.ts", 'await pool.query("select 1");'],
  ["server/src/events/store.test.ts", 'await pool.query("select 1");'],
])("%s may contain: %s", (path, text) => {
  expect(problemsOf(path, text)).toEqual([]);
});

it.each([[[]], [[{ ...storageTest, text: "" }]]])(
  "a listed test that sends no SQL, or does not exist, is reported",
  (files) => {
    expect(storageProblems(files, listed)).toEqual([expect.stringMatching(/rows-are-stored.*off the list/)]);
  },
);
