import { type ChildProcess, spawn } from "node:child_process";
import { accessSync, chmodSync, chownSync, constants, statSync, writeFileSync } from "node:fs";
import { delimiter, join } from "node:path";
import { describe, expect } from "vitest";
import { refuseTransactionPooling } from "../src/postgres/refuseTransactionPooling.ts";
import type { DatabaseConnection } from "../src/postgres/pool.ts";
import { createEmptyTestDatabase, type TestDatabase } from "./support/database.ts";
import { runDatabaseCommand } from "./support/databaseCommand.ts";
import { stageTest } from "./support/fixtures.ts";
import { someKey, startProgram } from "./support/program.ts";
import { takesAndGives } from "./support/takesAndGives.ts";
import { until } from "./support/until.ts";
import { freePort } from "./support/freePort.ts";

/*
 * A connection pooler in session mode works; one in transaction mode is refused by the start and by every command,
 * with a message. Needs PgBouncer: without it on PATH only the direct connection is tested.
 */

const program = [...(process.env["PATH"] ?? "").split(delimiter), "/usr/sbin"]
  .map((folder) => join(folder, "pgbouncer"))
  .find(isExecutable);

const it = stageTest
  .extend("empty", async ({}, { onCleanup }) => {
    const database = await createEmptyTestDatabase();
    onCleanup(() => database.drop());
    return database;
  })
  /** Starts a PgBouncer in front of the empty database, and returns its URL. */
  .extend("pooler", ({ empty, folder }, { onCleanup }) => async (settings: Record<string, string>) => {
    const bouncer = await startPgBouncer(empty, folder, settings);
    onCleanup(() => bouncer.stop());
    return bouncer.url;
  });

it("a direct connection to PostgreSQL is recognized", async ({ empty }) => {
  await expect(refuseTransactionPooling(empty.url)).resolves.toBeUndefined();
});

describe.skipIf(program === undefined)("with PgBouncer", () => {
  it("serves in session mode, without a setting", async ({ pooler, start, receiver }) => {
    const url = await pooler({ pool_mode: "session" });
    const service = await start({}, url);
    await takesAndGives(service, receiver);
    expect(await service.stop(), service.output()).toBe(0);
    expect(service.output()).not.toMatch(/"level":[56]0|a chore failed/);
  });

  it.for(["transaction", "statement"])("refuses pooling by %s", async (mode, { pooler, folder }) => {
    const url = await pooler({ pool_mode: mode });
    const env = { DATABASE_URL: url, POSTRIDER_ENCRYPTION_KEY: someKey };
    const start = startProgram({ env });
    expect(await start.ended).toEqual({ code: 1, signal: null });
    expect(start.output()).toMatch(/name PostgreSQL's own address in DATABASE_URL, or .* pool_mode=session/);
    for (const command of [
      ["backup", join(folder, "x")],
      ["db", "divide", "--cells", "2", "--yes"],
      ["reset", "--yes"],
    ])
      expect((await runDatabaseCommand(command, env)).err, command.join(" ")).toContain("pool_mode=session");
  });

  it("reports that a pool is too small", async ({ pooler }) => {
    const url = await pooler({ pool_mode: "session", default_pool_size: "1" });
    await expect(refuseTransactionPooling(url)).rejects.toThrow("raise its pool size");
  });
});

function isExecutable(path: string): boolean {
  try {
    accessSync(path, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}

/**
 * PgBouncer refuses to run as root, and needs access to the folder of the server's socket: it runs as the folder's
 * owner.
 */
async function startPgBouncer(
  database: TestDatabase,
  folder: string,
  settings: Record<string, string>,
): Promise<{ url: string; stop: () => Promise<void> }> {
  const { host, port, user, name, password } = placeOf(database.connection);
  const listenPort = await freePort();
  const lines = Object.entries({
    listen_addr: "127.0.0.1",
    listen_port: listenPort,
    unix_socket_dir: "",
    auth_type: "plain",
    auth_file: join(folder, "users"),
    default_pool_size: 40,
    ...settings,
  }).map(([key, value]) => `${key} = ${value}`);
  const secret = password === undefined ? "" : ` password=${password}`;
  writeFileSync(join(folder, "users"), `"${user}" "secret"\n`);
  writeFileSync(
    join(folder, "ini"),
    `[databases]\n${name} = host=${host} port=${port} user=${user}${secret}\n[pgbouncer]\n${lines.join("\n")}\n`,
  );
  const account = host.startsWith("/") && process.getuid?.() === 0 ? statSync(host) : undefined;
  if (account !== undefined) {
    for (const file of [folder, join(folder, "users"), join(folder, "ini")])
      chownSync(file, account.uid, account.gid);
    chmodSync(folder, 0o755);
  }
  const child: ChildProcess = spawn(program!, [join(folder, "ini")], {
    stdio: ["ignore", "ignore", "pipe"],
    ...(account !== undefined && { uid: account.uid, gid: account.gid }),
  });
  let said = "";
  child.stderr!.on("data", (bytes: Buffer) => (said += String(bytes)));
  const ended = new Promise<void>((resolve) => child.once("exit", () => resolve()));
  await until(
    async () => said,
    (text) => /process up/.test(text),
  ).catch((error: unknown) => {
    throw new Error(`PgBouncer does not start: ${said}`, { cause: error });
  });
  return {
    url: `postgresql://${user}:secret@127.0.0.1:${listenPort}/${name}`,
    async stop() {
      child.kill("SIGKILL");
      await ended;
    },
  };
}

function placeOf(connection: DatabaseConnection): {
  host: string;
  port: number;
  user: string;
  name: string;
  password?: string;
} {
  if (!("url" in connection)) {
    const { database: name, ...rest } = connection;
    return { ...rest, name };
  }
  const { hostname, port, username, pathname, password } = new URL(connection.url);
  return {
    host: hostname,
    port: Number(port || 5432),
    user: decodeURIComponent(username),
    name: pathname.slice(1),
    ...(password !== "" && { password: decodeURIComponent(password) }),
  };
}
