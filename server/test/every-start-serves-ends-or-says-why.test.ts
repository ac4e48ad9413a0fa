import { chmodSync, existsSync, mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { spawnSync } from "node:child_process";
import { createServer, type Server } from "node:net";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it, vi } from "vitest";
import { createEmptyTestDatabase, createTestDatabase, type TestDatabase } from "./support/database.ts";
import { startDatabaseProxy } from "./support/databaseProxy.ts";
import { processesSaying } from "./support/embeddedProcess.ts";
import { freePort } from "./support/freePort.ts";
import { createWebhookTarget, sendItems } from "./support/items.ts";
import { serviceFile, type Program, type ProgramOptions, someKey, startProgram } from "./support/program.ts";
import { startReceiver } from "./support/receiver.ts";
import { refuseAll } from "./support/refusingServer.ts";
import { startService } from "./support/serviceProcess.ts";
import { createTestNode, signUp } from "./support/testNode.ts";
import { until } from "./support/until.ts";
import { clusterFolder } from "./support/clusterFolder.ts";
import { holdMigrations } from "./support/heldLocks.ts";
import { runDatabaseCommand } from "./support/databaseCommand.ts";
import { setEncoding, setReadOnly } from "./support/otherHands.ts";

const linux = process.platform === "linux";
const isRoot = process.getuid?.() === 0;
const parent = mkdtempSync(join(clusterFolder(), "postrider-starts-"));
const started: Program[] = [];
const signals = ["SIGTERM", "SIGINT", "SIGHUP"] as const;
let places = 0;

chmodSync(parent, 0o755);
// Each start is a process of its own, and most wait for seconds, so several tests run concurrently.
vi.setConfig({ testTimeout: 180_000, maxConcurrency: 3 });

function start(env: Record<string, string>, options: ProgramOptions = {}): Program {
  const program = startProgram({ env, ...options });
  started.push(program);
  return program;
}

/** Starts a service that waits for a database of its own. */
function startOn(databaseUrl: string): Program {
  return start({ DATABASE_URL: databaseUrl, POSTRIDER_ENCRYPTION_KEY: someKey });
}

function newPlace(): string {
  return join(parent, `place-${places++}`);
}

afterAll(async () => {
  for (const program of started) program.kill("SIGKILL");
  await Promise.all(started.map(({ ended }) => ended));
  rmSync(parent, { recursive: true, force: true, maxRetries: 20, retryDelay: 100 });
});

describe.concurrent("a start whose database does not listen", () => {
  let port: number;
  beforeAll(async () => {
    port = await freePort();
  });

  it.each(signals)("logs repeatedly why it waits, and ends on %s", async (signal) => {
    const program = startOn(`postgres://ada:secret@127.0.0.1:${port}/orders`);
    await program.says(/Waiting for the database of DATABASE_URL \(127\.0\.0\.1:\d+\): .*ECONNREFUSED/);
    await program.says(/Still waiting for the database of DATABASE_URL .*ECONNREFUSED.* \(\d+ s\)/);
    program.kill(signal);
    expect(await program.ended).toEqual({ code: 0, signal: null });
    expect(program.output()).toContain(`Stopped by ${signal} before it served`);
    expect(program.output()).not.toContain("secret");
  });

  it("serves once a server listens", async () => {
    const database = await createTestDatabase();
    const proxy = await startDatabaseProxy(database);
    proxy.accepts = false;
    const program = startOn(`${proxy.url}?pgbouncer=true&application_name=a&channel_binding=require`);
    await program.says(/parameters of DATABASE_URL that have no effect: pgbouncer, channel_binding"/);
    await program.says(/Waiting for the database/);
    proxy.accepts = true;
    await program.says(/listens on/);
    program.kill("SIGTERM");
    expect(await program.ended).toEqual({ code: 0, signal: null });
    await proxy.stop();
    await database.drop();
  });
});

describe.concurrent("a start whose database is silent, unknown or refuses connections", () => {
  let database: TestDatabase;

  beforeAll(async () => {
    database = await createTestDatabase();
  });
  afterAll(() => database.drop());

  it("logs that the database does not answer, and ends on a signal", async () => {
    const proxy = await startDatabaseProxy(database);
    proxy.frozen = true;
    const program = startOn(proxy.url);
    await program.says(/Waiting for the database of DATABASE_URL .*: it does not answer/);
    program.kill("SIGTERM");
    expect(await program.ended).toEqual({ code: 0, signal: null });
    await proxy.stop();
  });

  it("logs that the host name is unknown", async () => {
    const program = startOn("postgres://ada@no-such-host.invalid/orders");
    await program.says(/the name of its host is not known/);
    program.kill("SIGINT");
    expect((await program.ended).code).toBe(0);
  });

  it("ends with a message about a database that does not exist", async () => {
    const proxy = await startDatabaseProxy(database);
    const program = startOn(Object.assign(new URL(proxy.url), { pathname: "/missing" }).href);
    expect(await program.ended).toEqual({ code: 1, signal: null });
    expect(program.output()).toMatch(/"missing" does not exist: create it/);
    await proxy.stop();
  });

  it.runIf(linux)("ends with a message when its directory was removed, as by a deployment", async () => {
    const removed = newPlace();
    mkdirSync(removed);
    const inRemoved = 'cd "$1" && rmdir "$1" && shift && exec "$@"';
    const program = start(
      { DATABASE_URL: database.url, POSTRIDER_ENCRYPTION_KEY: someKey },
      { command: ["/bin/sh", "-c", inRemoved, "sh", removed, process.execPath, serviceFile, "serve"] },
    );
    expect(await program.ended).toEqual({ code: 1, signal: null });
    expect(program.output()).toMatch(/the current working directory was likely removed/);
  });

  it("ends with a message about TLS that the server does not offer", async () => {
    const proxy = await startDatabaseProxy(database);
    const program = startOn(`${proxy.url}?sslmode=require`);
    expect(await program.ended).toEqual({ code: 1, signal: null });
    expect(program.output()).toMatch(/does not support SSL connections: remove sslmode/);
    await proxy.stop();
  });

  it("ends with a message about a certificate's file that does not exist", async () => {
    const program = startOn("postgres://ada:secret@127.0.0.1:9/orders?sslrootcert=/nowhere/ca.pem");
    expect(await program.ended).toEqual({ code: 1, signal: null });
    expect(program.output()).toMatch(/cannot be read \(ENOENT: .*'\/nowhere\/ca\.pem'\): correct its path/);
    expect(program.output()).not.toMatch(/secret|^\s+at /m);
  });

  it.each([
    ["28000", 'no pg_hba.conf entry for host "::1", user "a", no encryption', /add \?sslmode=verify-full/],
    ["28P01", 'password authentication failed for user "a"', /check the user and the password/],
  ])("ends with a message about a refusal of class %s: %s", async (code, message, sentence) => {
    const server = await refuseAll(code, message);
    const program = startOn(`postgres://a:secret@127.0.0.1:${portOf(server)}/a`);
    expect(await program.ended).toEqual({ code: 1, signal: null });
    expect(program.output()).toMatch(sentence);
    expect(program.output()).not.toMatch(/secret|^\s+at /m);
    server.close();
  });

  it("logs that the database is read-only, and serves once it is writable", async () => {
    const empty = await createEmptyTestDatabase();
    await setReadOnly(empty.url, true);
    const program = startOn(empty.url);
    await program.says(/Waiting for the database .*read-only/);
    await setReadOnly(empty.url, false);
    await program.says(/listens on/);
    program.kill("SIGTERM");
    expect((await program.ended).code).toBe(0);
    await empty.drop();
  });

  it.each(["LATIN1", "SQL_ASCII"])("ends with a message when the database is in %s", async (encoding) => {
    const empty = await createEmptyTestDatabase(encoding);
    const program = startOn(empty.url);
    expect(await program.ended).toEqual({ code: 1, signal: null });
    expect(program.output()).toMatch(`the database has the encoding ${encoding}, and Postrider needs UTF8`);
    await empty.drop();
  });

  it("ends with a message when its own database has another encoding, and the database can be backed up", async () => {
    const old = await createTestDatabase();
    await setEncoding(old.url, "LATIN1");
    const program = startOn(old.url);
    expect(await program.ended).toEqual({ code: 1, signal: null });
    expect(program.output()).toMatch(
      /the database has the encoding LATIN1, .* postrider backup and postrider restore/,
    );
    const env = { DATABASE_URL: old.url, POSTRIDER_ENCRYPTION_KEY: someKey };
    expect(await runDatabaseCommand(["backup", newPlace()], env)).toMatchObject({ code: 0 });
    await old.drop();
  });

  // The tests' server has fsync off.
  it("warns that a crash of the server could lose items", async () => {
    const program = startOn(database.url);
    const [, url] = await program.says(/listens on (http:\S+)/);
    expect(program.output()).toContain("the database's server has fsync off");
    const answer = await fetch(`${url}/readyz`);
    expect([answer.status, await answer.json()]).toEqual([
      200,
      { status: "ready", warnings: [expect.stringContaining("set fsync = on")] },
    ]);
  });

  it("logs that another process migrates, and continues afterwards", async () => {
    const letMigrate = await holdMigrations(database.url);
    const [first, second] = [startOn(database.url), startOn(database.url)];
    for (const one of [first, second])
      await one.says(/Still waiting for another process that brings the schema/);
    first.kill("SIGTERM");
    expect(await first.ended).toEqual({ code: 0, signal: null });
    await letMigrate();
    await second.says(/listens on/);
  });
});

describe.concurrent("a start on a directory", () => {
  it.runIf(linux)(
    "ends with a message when the directory cannot be created although its parent exists",
    async () => {
      const program = start({ POSTRIDER_DATA_DIR: "/proc/postrider/data" });
      expect(await program.ended).toEqual({ code: 1, signal: null });
      expect(program.output()).toMatch(
        /cannot make the data directory \/proc\/postrider\/data: .*set POSTRIDER_DATA_DIR/,
      );
    },
  );

  it("ends with a message when a file has the directory's path", async () => {
    const file = newPlace();
    writeFileSync(file, "");
    const program = start({ POSTRIDER_DATA_DIR: join(file, "data") });
    expect((await program.ended).code).toBe(1);
    expect(program.output()).toMatch(/cannot make the data directory .*ENOTDIR/);
  });

  it.each([
    ["service.lock", /cannot use the lock file .*; let this user write to the directory/],
    ["moved.json", /moved\.json cannot be read: .*; let this user read it, or set POSTRIDER_DATA_DIR/],
  ])(
    "ends with a message when it may not open %s, as in another user's directory",
    async (name, sentence) => {
      const closed = newPlace();
      // Root may open every file, but no folder in its place.
      mkdirSync(join(closed, name), { recursive: true });
      const program = start({ POSTRIDER_DATA_DIR: closed });
      expect((await program.ended).code).toBe(1);
      expect(program.output()).toMatch(sentence);
    },
  );

  it("logs no warning", async () => {
    const program = start({ POSTRIDER_DATA_DIR: newPlace() });
    const [, url] = await program.says(/listens on (http:\S+)/);
    expect(await (await fetch(`${url}/readyz`)).json()).toEqual({ status: "ready" });
    expect(program.output()).not.toContain("fsync");
    program.kill("SIGTERM");
    expect(await program.ended).toEqual({ code: 0, signal: null });
  });

  it.each(["SIGTERM", "SIGHUP"] as const)(
    "ends on %s while the database is being created, and the next start serves",
    async (signal) => {
      const dataDir = newPlace();
      const program = start({ POSTRIDER_DATA_DIR: dataDir });
      await until(
        () => existsSync(dataDir) && readdirSync(dataDir).some((name) => name.startsWith("postgresql.new-")),
      );
      program.kill(signal);
      expect((await program.ended).code).toBe(0);
      if (linux)
        await until(
          () => processesSaying(dataDir),
          (left) => left.length === 0,
        );
      const next = start({ POSTRIDER_DATA_DIR: dataDir });
      await next.says(/listens on/);
      next.kill("SIGTERM");
      expect(await next.ended).toEqual({ code: 0, signal: null });
    },
  );

  it("ends with a message when its port is in use", async () => {
    const server = await listen();
    const program = start({ POSTRIDER_DATA_DIR: newPlace(), PORT: String(portOf(server)) });
    expect((await program.ended).code).toBe(1);
    expect(program.output()).toMatch(/is in use by another program: stop it, or set PORT/);
    server.close();
  });

  it("ends with a message when HOST is no address of this machine", async () => {
    const database = await createTestDatabase();
    const program = start({
      DATABASE_URL: database.url,
      POSTRIDER_ENCRYPTION_KEY: someKey,
      HOST: "192.0.2.1",
    });
    expect((await program.ended).code).toBe(1);
    expect(program.output()).toMatch(/HOST=192\.0\.2\.1 is no address of this machine/);
    await database.drop();
  });
});

describe.concurrent("a start with the key of another database", () => {
  it("ends with a message; it serves when the former key is configured as such", async () => {
    const database = await createTestDatabase();
    const node = createTestNode(database);
    await createWebhookTarget(node, await signUp(node), "https://example.com/hook");
    await node.stop();
    const otherKey = Buffer.alloc(32, 8).toString("base64");
    const env = { DATABASE_URL: database.url, POSTRIDER_ENCRYPTION_KEY: otherKey };
    const program = start(env);
    expect(await program.ended).toEqual({ code: 1, signal: null });
    expect(program.output()).toMatch(/the encryption key is not the one that this database's secrets/);
    expect(program.output()).not.toMatch(/^\s+at /m);
    const next = start({ ...env, POSTRIDER_PREVIOUS_ENCRYPTION_KEYS: someKey });
    await next.says(/listens on/);
    next.kill("SIGTERM");
    expect((await next.ended).code).toBe(0);
    await database.drop();
  });
});

/** Root may hide users from a process, in a separate mount namespace. */
const canHideUsers =
  isRoot &&
  linux &&
  existsSync("/etc/nsswitch.conf") &&
  spawnSync("/usr/bin/unshare", ["--mount", "true"]).status === 0;

describe.runIf(canHideUsers).concurrent("a start as root on a system without a user for PostgreSQL", () => {
  it("ends with a message that names the users it looked for", async () => {
    const [users, sources] = [newPlace(), newPlace()];
    writeFileSync(users, "root:x:0:0:root:/root:/bin/sh\n");
    // systemd's user source would synthesize `nobody`.
    writeFileSync(sources, "passwd: files\ngroup: files\n");
    const hidden = `mount --bind ${users} /etc/passwd && mount --bind ${sources} /etc/nsswitch.conf && exec "$@"`;
    const program = start(
      { POSTRIDER_DATA_DIR: newPlace() },
      {
        command: [
          "/usr/bin/unshare",
          "--mount",
          "sh",
          "-c",
          hidden,
          "sh",
          process.execPath,
          serviceFile,
          "serve",
        ],
      },
    );
    expect(await program.ended).toEqual({ code: 1, signal: null });
    expect(program.output()).toMatch(/this system has none of the users postrider, postgres, .*nobody/);
  });
});

describe.concurrent("a service that is asked to stop twice", () => {
  it("ends at once, although an attempt is in flight", async () => {
    const receiver = await startReceiver();
    receiver.answer = () => undefined;
    const database = await createTestDatabase();
    const service = await startService({ storage: { databaseUrl: database.url } });
    const account = await signUp(service);
    const target = await createWebhookTarget(service, account, receiver.url);
    await sendItems(service, account, target.id, 1);
    await receiver.arrivals(1);
    await until(
      () => {
        service.kill("SIGTERM");
        return service.output().includes("Asked to stop a second time (SIGTERM): ending at once");
      },
      (isSaid) => isSaid,
    );
    expect(await service.ended).toBeNull();
    await receiver.stop();
    await database.drop();
  });
});

function listen(onConnection: Parameters<typeof createServer>[1] = () => undefined): Promise<Server> {
  return new Promise((resolve) => {
    const server = createServer(onConnection).listen(0, "127.0.0.1", () => resolve(server));
  });
}

function portOf(server: Server): number {
  return (server.address() as { port: number }).port;
}
