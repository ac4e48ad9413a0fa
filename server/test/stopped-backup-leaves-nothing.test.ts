import { mkdtempSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, it } from "vitest";
import { createTestDatabase, type TestDatabase } from "./support/database.ts";
import { runDatabaseCommand } from "./support/databaseCommand.ts";
import { type DatabaseProxy, startDatabaseProxy } from "./support/databaseProxy.ts";
import { serviceFile, someKey, startProgram } from "./support/program.ts";
import { until } from "./support/until.ts";

const place = mkdtempSync(join(tmpdir(), "postrider-stopped-"));
let database: TestDatabase;
let proxy: DatabaseProxy;

beforeAll(async () => {
  database = await createTestDatabase();
  proxy = await startDatabaseProxy(database);
});

afterAll(async () => {
  await proxy.stop();
  await database.drop();
  rmSync(place, { recursive: true, force: true });
});

it.for(["SIGINT", "SIGTERM", "SIGHUP"] as const)(
  "a backup stopped by %s removes its draft",
  async (signal) => {
    const program = startProgram({
      command: [process.execPath, serviceFile, "backup", join(place, "postrider.backup")],
      env: { DATABASE_URL: proxy.url, POSTRIDER_ENCRYPTION_KEY: someKey },
    });
    await proxy.freezeAt('from only "targets"');
    await until(
      () => readdirSync(place),
      (names) => names.some((name) => name.endsWith(".partial")),
    );
    program.kill(signal);
    expect(await program.ended).toEqual({ code: null, signal });
    expect(readdirSync(place)).toEqual([]);
    proxy.sever();
    proxy.frozen = false;
  },
);

it("a backup whose connection is lost says so, and removes its draft", async () => {
  const file = join(place, "postrider.backup");
  const ended = runDatabaseCommand(["backup", file], {
    DATABASE_URL: proxy.url,
    POSTRIDER_ENCRYPTION_KEY: someKey,
  });
  await proxy.freezeAt('from only "targets"');
  proxy.sever();
  proxy.frozen = false;
  expect(await ended).toEqual({
    code: 1,
    out: "",
    err: expect.stringMatching(
      /^the connection to the database was lost \(.+\): nothing was written; run the command/,
    ),
  });
  expect(readdirSync(place)).toEqual([]);
});

it("a backup that cannot be written names its final file and the reason", async () => {
  const env = { DATABASE_URL: database.url, POSTRIDER_ENCRYPTION_KEY: someKey };
  const long = "b".repeat(250);
  for (const [path, reason] of [
    [join(place, "none", "postrider.backup"), "its folder does not exist"],
    [join("/dev/null", "postrider.backup"), "its folder does not exist"],
    [join(place, long), "its name is too long"],
  ]) {
    expect(await runDatabaseCommand(["backup", path!], env)).toEqual({
      code: 1,
      out: "",
      err: `cannot write ${path}: ${reason}`,
    });
  }
  const piped = await runDatabaseCommand(["backup", "-"], env);
  expect([piped.code, piped.err]).toEqual([2, expect.stringMatching(/not to standard output: name a file$/)]);
  expect(readdirSync(place)).toEqual([]);
});
