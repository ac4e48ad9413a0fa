import { existsSync, mkdirSync, mkdtempSync, readdirSync, rmSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, expect, it } from "vitest";
import { findHolder, lockDirectory } from "../src/postgres/embedded/directoryLock.ts";
import { runningConnection } from "../src/postgres/embedded/runningConnection.ts";
import { createPool } from "../src/postgres/pool.ts";
import { clusterFolder } from "./support/clusterFolder.ts";
import { dropFunctions } from "./support/otherHands.ts";
import { type Program, serviceFile, someKey, startProgram } from "./support/program.ts";
import { refuseAll } from "./support/refusingServer.ts";
import { until } from "./support/until.ts";

const place = mkdtempSync(join(clusterFolder(), "postrider-shared-"));
const dataDir = join(place, "data");
const started: Program[] = [];

afterAll(async () => {
  for (const program of started) program.kill("SIGTERM");
  await Promise.all(started.map(({ ended }) => ended));
  rmSync(place, { recursive: true, force: true, maxRetries: 20, retryDelay: 100 });
});

function start(...words: string[]): Program {
  return startWith({}, ...words);
}

function startWith(env: Record<string, string>, ...words: string[]): Program {
  const program = startProgram({
    command: [process.execPath, serviceFile, ...words],
    env: { POSTRIDER_DATA_DIR: dataDir, PORT: "0", ...env },
  });
  started.push(program);
  return program;
}

it("a command that needs an existing database does not create one", async () => {
  const commands = [
    ["org", "list"],
    ["org", "show", "acme"],
    ["db", "cells"],
    ["db", "drop-expired"],
    ["backup", join(place, "none.backup")],
  ];
  const programs = commands.map((words) => start(...words));
  for (const program of programs) {
    expect(await program.ended, program.output()).toEqual({ code: 4, signal: null });
    expect(program.output()).toContain(`there is no database in ${dataDir}: set POSTRIDER_DATA_DIR`);
  }
  for (const words of [[" "], ["Acme", "--email", "nobody"]]) {
    const create = start("org", "create", ...words);
    expect(await create.ended, create.output()).toEqual({ code: 2, signal: null });
  }
  expect(existsSync(dataDir)).toBe(false);
});

it("a command waits for a service that is starting, and then runs beside it", async () => {
  const service = start("serve");
  await until(
    () => findHolder(dataDir),
    (holder) => holder !== undefined,
  );
  const create = start("org", "create", "Acme");
  expect(await create.ended, create.output()).toEqual({ code: 0, signal: null });
  await service.says(/listens on/);

  // As beside a service of another version. It is stopped, because a service without functions ends.
  service.kill("SIGSTOP");
  const connection = (await runningConnection(dataDir))!;
  const pool = createPool({ connection, size: 1, onError: () => undefined });
  await dropFunctions(pool);
  await pool.end();
  const list = start("org", "list");
  const listed = await list.ended;
  service.kill("SIGCONT");
  expect(listed, list.output()).toEqual({ code: 0, signal: null });

  service.kill("SIGTERM");
  expect(await service.ended).toEqual({ code: 0, signal: null });
  expect(service.output()).not.toContain("FATAL");
});

it("a command waits for another command, whose database ends with it", async () => {
  const unlock = await lockDirectory(dataDir, { command: "postrider org" });
  const backUp = start("backup", join(place, "one.backup"));
  const list = start("org", "list");
  for (const program of [backUp, list])
    await program.says(new RegExp(`Waiting for postrider org \\(process ${process.pid}\\), which uses`));
  unlock();
  for (const program of [backUp, list])
    expect(await program.ended, program.output()).toEqual({ code: 0, signal: null });
  expect(list.output()).toContain("Acme");
  expect(backUp.output()).toMatch(/^created_at {2}20\d\d-\d\d-\d\dT/m);
});

it("a command beside a service whose disk is full says so, and does not wait", async () => {
  const full = join(place, "full");
  mkdirSync(join(full, "postgresql"), { recursive: true });
  const unlock = await lockDirectory(full);
  const server = await refuseAll("53100", "could not write init file", {
    path: join(place, ".s.PGSQL.5432"),
  });
  writeFileSync(join(full, "postgresql", "postmaster.pid"), `1\n${full}\n0\n5432\n${place}\n`);
  const list = startWith({ POSTRIDER_DATA_DIR: full }, "org", "list");
  expect(await list.ended, list.output()).toEqual({ code: 1, signal: null });
  expect(list.output()).toBe(`postrider: the disk that holds ${full} is full: make room, then try again\n`);
  unlock();
  server.close();
});

it("a command makes no key for a service whose key is in its environment, and a backup names no other key", async () => {
  const keyed = join(place, "keyed");
  const file = join(place, "keyed.backup");
  const elsewhere = { POSTRIDER_DATA_DIR: keyed };
  const service = startWith({ ...elsewhere, POSTRIDER_ENCRYPTION_KEY: someKey }, "serve");
  await service.says(/listens on/);
  const create = startWith(elsewhere, "org", "create", "Acme");
  expect(await create.ended, create.output()).toEqual({ code: 0, signal: null });
  expect(existsSync(join(keyed, "encryption.key"))).toBe(false);
  const created = await fetch(`${/listens on (\S+)/.exec(service.output())![1]!}/api/v1/targets`, {
    method: "POST",
    headers: {
      authorization: `Bearer ${/ak_live_\w+/.exec(create.output())![0]}`,
      "content-type": "application/json",
    },
    body: JSON.stringify({ kind: "webhook", name: "orders", url: "https://shop.example/hooks" }),
  });
  expect(created.status).toBe(200);
  const otherKey = Buffer.alloc(32, 9).toString("base64");
  const backUp = startWith({ ...elsewhere, POSTRIDER_ENCRYPTION_KEY: otherKey }, "backup", file);
  expect(await backUp.ended, backUp.output()).toEqual({ code: 1, signal: null });
  expect(backUp.output()).toContain("the encryption key is not the one that this database's secrets");
  expect(existsSync(file)).toBe(false);
  service.kill("SIGTERM");
  await service.ended;
  const keyless = startWith(elsewhere, "serve");
  expect(await keyless.ended, keyless.output()).toEqual({ code: 1, signal: null });
  expect(keyless.output()).toContain("encryption.key is missing, without which the database's secrets");
  expect(existsSync(join(keyed, "encryption.key"))).toBe(false);
});

it("a service names the command that holds its directory", async () => {
  const unlock = await lockDirectory(dataDir, { command: "postrider backup" });
  const service = start("serve");
  expect(await service.ended).toEqual({ code: 1, signal: null });
  expect(service.output()).toContain(
    `postrider backup (process ${process.pid}) is using the data directory ${dataDir}: wait until it has ended`,
  );
  unlock();
});

it("after a reset that was killed while it deleted files, the next start works", async () => {
  const cluster = join(dataDir, "postgresql");
  const changedAt = (): string =>
    ["", "base", "global", "pg_wal"]
      .map((folder) => statSync(join(cluster, folder), { throwIfNoEntry: false })?.mtimeMs)
      .join();
  const whole = changedAt();
  const reset = start("reset", "--yes");
  await until(changedAt, (now) => now !== whole);
  reset.kill("SIGKILL");
  await reset.ended;
  const service = start("serve");
  await service.says(/listens on/);
  expect(readdirSync(dataDir).filter((name) => name.startsWith("postgresql"))).toEqual(["postgresql"]);
  service.kill("SIGTERM");
  expect(await service.ended).toEqual({ code: 0, signal: null });
});

it("a command beside a service with cells is refused without their number", async () => {
  const divided = { POSTRIDER_DATA_DIR: join(place, "divided") };
  const service = startWith({ ...divided, POSTRIDER_CELLS: "2" }, "serve");
  await service.says(/listens on/);
  const commands = [
    ["db", "cells"],
    ["db", "drop-expired"],
    ["org", "list"],
  ];
  for (const words of commands) {
    const program = startWith(divided, ...words);
    expect(await program.ended, program.output()).toEqual({ code: 1, signal: null });
    expect(program.output()).toContain("the database has 2 cells and POSTRIDER_CELLS says 1: set it to 2");
  }
  const list = startWith({ ...divided, POSTRIDER_CELLS: "2" }, "db", "cells");
  expect(await list.ended, list.output()).toEqual({ code: 0, signal: null });
  expect(list.output()).toContain("postrider_cell_80");
});
