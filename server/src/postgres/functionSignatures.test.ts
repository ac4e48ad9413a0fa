import { readFile } from "node:fs/promises";
import { expect, test } from "vitest";
import { functionSignatures } from "../../scripts/functionSignatures.ts";
import { createTestDatabase } from "../../test/support/database.ts";
import { createPool } from "./pool.ts";

test("the generated TypeScript signatures of the SQL functions match the database's catalogue (npm run generated)", async () => {
  const database = await createTestDatabase();
  const pool = createPool({ connection: database.connection, size: 1, onError: () => undefined });
  const committed = await readFile(new URL("sql/functions.generated.ts", import.meta.url), "utf8");
  expect(await functionSignatures(pool)).toBe(committed);
  await pool.end();
  await database.drop();
});
