import { join } from "node:path";
import { tmpdir } from "node:os";
import { afterAll, beforeAll, expect, it } from "vitest";
import { createEmptyTestDatabase, type TestDatabase } from "./support/database.ts";
import { runDatabaseCommand } from "./support/databaseCommand.ts";
import { freePort } from "./support/freePort.ts";
import { someKey } from "./support/program.ts";

let database: TestDatabase;

beforeAll(async () => {
  database = await createEmptyTestDatabase();
});

afterAll(() => database.drop());

const commands = [
  ["backup", join(tmpdir(), "postrider-no.backup")],
  ["reset", "--yes"],
  ["db", "divide", "--cells", "2", "--yes"],
  ["db", "distribute", "--yes"],
];

it.for(commands)("postrider %s says which database is unavailable, why, and what to do", async (args) => {
  const { url } = database;
  const away = {
    [`postgres://ada:secret@127.0.0.1:${await freePort()}/orders`]:
      /^the database of DATABASE_URL \(127\.0\.0\.1:\d+\) cannot be used: connect ECONNREFUSED/,
    [url.replace(/\/\w+(?=\?|$)/, "/missing")]: /"missing" does not exist: create it/,
    [url.replace(/\/\/\w+@/, "//nobody_of_that_name@")]: /does not exist: check the user in DATABASE_URL/,
  };
  for (const [address, reason] of Object.entries(away)) {
    const ended = await runDatabaseCommand(args, {
      DATABASE_URL: address,
      POSTRIDER_ENCRYPTION_KEY: someKey,
    });
    expect(ended).toEqual({ code: 1, out: "", err: expect.stringMatching(reason) });
    expect(ended.err).not.toContain("secret");
  }
});
