import { randomBytes } from "node:crypto";
import { mkdtempSync, rmSync } from "node:fs";
import { join } from "node:path";
import pg from "pg";
import { expect, inject } from "vitest";
import { lockDirectory } from "../src/postgres/embedded/directoryLock.ts";
import { createPool, type DatabaseConnection } from "../src/postgres/pool.ts";
import { startAlone } from "../src/process/commands/openAsItIs.ts";
import { clusterFolder } from "./support/clusterFolder.ts";
import { createEmptyTestDatabase, urlOf } from "./support/database.ts";
import { runDatabaseCommand } from "./support/databaseCommand.ts";
import { runEveryChore } from "./support/everyChore.ts";
import { stageTest } from "./support/fixtures.ts";
import { someKey, startProgram } from "./support/program.ts";
import { takesAndGives } from "./support/takesAndGives.ts";

/*
 * A managed PostgreSQL gives no superuser: a role that owns its database, or a schema in one, and has no other
 * privileges runs the service, its chores and its commands.
 */

const it = stageTest
  /**
   * A role without privileges, with which `url` connects to an empty database, and a superuser's access to that
   * database.
   */
  .extend("stranger", async ({}, { onCleanup }) => {
    const database = await createEmptyTestDatabase();
    const role = `stranger_${randomBytes(6).toString("hex")}`;
    const url = urlAs(role, database.connection);
    await asSuperuser(database.url, [
      `create role ${role} login password 'secret' nosuperuser nocreatedb nocreaterole noreplication nobypassrls`,
    ]);
    onCleanup(async () => {
      await database.drop();
      await asSuperuser(urlOf(inject("postgres").connection), [`drop role ${role}`]);
    });
    return {
      role,
      url,
      name: /\/(\w+)(\?|$)/.exec(url)![1]!,
      prepare: (...statements: string[]) => asSuperuser(database.url, statements),
    };
  });

it("runs for the owner of a database", async ({ stranger, start, receiver, folder }) => {
  await stranger.prepare(`alter database ${stranger.name} owner to ${stranger.role}`);
  const { url } = stranger;
  const service = await start({}, url);
  await takesAndGives(service, receiver);
  const pool = createPool({ connection: { url }, size: 2, onError: () => undefined });
  await runEveryChore(pool, 0);
  await pool.end();
  const env = { DATABASE_URL: url, POSTRIDER_ENCRYPTION_KEY: someKey };
  const backup = join(folder, "postrider.backup");
  expect(await runDatabaseCommand(["backup", backup], env)).toMatchObject({ code: 0 });
  expect(await service.stop(), service.output()).toBe(0);
  for (const command of [
    ["db", "drop-expired"],
    ["db", "cells"],
    ["db", "divide", "--cells", "2", "--yes"],
    ["reset", "--yes"],
    ["restore", backup],
  ])
    expect(await runDatabaseCommand(command, env), command.join(" ")).toMatchObject({ code: 0 });
  const restored = await start({ POSTRIDER_PROCESSES: "2" }, url);
  await takesAndGives(restored, receiver);
  expect(await restored.stop(), restored.output()).toBe(0);
  expect(service.output() + restored.output()).not.toMatch(/"level":[56]0|a chore failed/);
});

it("runs for the owner of a schema who may create further schemas", async ({ stranger, start, receiver }) => {
  await stranger.prepare(
    "revoke all on schema public from public",
    `create schema app authorization ${stranger.role}`,
    `alter role ${stranger.role} in database ${stranger.name} set search_path = app`,
    `grant create on database ${stranger.name} to ${stranger.role}`,
  );
  const service = await start({}, stranger.url);
  await takesAndGives(service, receiver);
  expect(await service.stop(), service.output()).toBe(0);
  expect(service.output()).not.toMatch(/"level":[56]0|a chore failed/);
});

it("names the missing privilege", async ({ stranger }) => {
  await stranger.prepare(
    `create schema app authorization ${stranger.role}`,
    `alter role ${stranger.role} in database ${stranger.name} set search_path = app`,
  );
  const program = startProgram({
    env: { DATABASE_URL: stranger.url, POSTRIDER_ENCRYPTION_KEY: someKey },
  });
  expect(await program.ended).toEqual({ code: 1, signal: null });
  expect(program.output()).toContain("grant it CREATE on the database");
});

it("commands name the missing privilege before they end a service for a move", async ({
  database,
  stranger,
  folder,
}) => {
  const missing =
    /^the database of DATABASE_URL \(.*\) cannot be used: permission denied for .*: the user of .* has to own/m;
  const env = { DATABASE_URL: stranger.url, POSTRIDER_ENCRYPTION_KEY: someKey };
  const refuses = async (...args: string[]): Promise<void> => {
    expect(await runDatabaseCommand(args, env)).toMatchObject({
      code: 1,
      err: expect.stringMatching(missing),
    });
  };
  const backup = join(folder, "postrider.backup");
  await runDatabaseCommand(["backup", backup], { ...env, DATABASE_URL: database.url });
  await refuses("restore", backup);

  const dataDir = mkdtempSync(join(clusterFolder(), "postrider-rights-"));
  const embedded = await startAlone(dataDir, { command: "postrider restore", say: () => undefined });
  await embedded.close();
  // This process locks the directory as a service would.
  const unlock = await lockDirectory(dataDir);
  Object.assign(env, { POSTRIDER_DATA_DIR: dataDir });
  await refuses("move", "--stop-service");
  const inBytes = await createEmptyTestDatabase("SQL_ASCII");
  expect(
    await runDatabaseCommand(["move", "--stop-service"], { ...env, DATABASE_URL: inBytes.url }),
  ).toMatchObject({ code: 1, err: expect.stringContaining("the database has the encoding SQL_ASCII") });
  await inBytes.drop();
  unlock();
  rmSync(dataDir, { recursive: true });

  env.DATABASE_URL = urlAs(stranger.role, database.connection);
  await refuses("reset", "--yes");
});

function urlAs(role: string, connection: DatabaseConnection): string {
  if (!("url" in connection)) return urlOf({ ...connection, user: role, password: "secret" });
  const url = new URL(connection.url);
  url.username = role;
  url.password = "secret";
  return url.href;
}

async function asSuperuser(url: string, statements: readonly string[]): Promise<void> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  try {
    for (const statement of statements) await client.query(statement);
  } finally {
    await client.end();
  }
}
