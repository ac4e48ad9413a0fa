import { spawnSync } from "node:child_process";
import {
  chmodSync,
  chownSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statfsSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { afterAll, afterEach, describe, expect, it } from "vitest";
import { createPool } from "../src/postgres/pool.ts";
import { startEmbedded } from "../src/postgres/embedded/startEmbedded.ts";
import { makeWalAhead, segmentsThatFit } from "../src/postgres/embedded/walAhead.ts";
import { runningConnection } from "../src/postgres/embedded/runningConnection.ts";
import { processesSaying, query, runEmbedded, type EmbeddedProcess } from "./support/embeddedProcess.ts";
import { serviceFile, startProgram } from "./support/program.ts";
import { until } from "./support/until.ts";
import { clusterFolder } from "./support/clusterFolder.ts";

const linux = process.platform === "linux";
const root = process.getuid?.() === 0;
const nobody = 65_534;
const parent = mkdtempSync(join(clusterFolder(), "postrider-start-"));
const started: EmbeddedProcess[] = [];
chmodSync(parent, 0o755);

/** Whether an ordinary user can run this Node and read these sources: not when the repository is under /root. */
const everyoneReads =
  root &&
  spawnSync("/bin/sh", ["-c", `test -r "$1" && test -x "$2"`, "sh", import.meta.filename, process.execPath], {
    uid: nobody,
    gid: nobody,
    cwd: "/",
  }).status === 0;

/** Options for running as an ordinary user: the current user, or nobody when the current user is root. */
const ordinary = root ? { uid: nobody, gid: nobody } : {};

function run(...given: Parameters<typeof runEmbedded>): EmbeddedProcess {
  const service = runEmbedded(...given);
  started.push(service);
  return service;
}

/** Creates a directory that an ordinary user owns. */
function ownDirectory(name: string): string {
  const directory = join(parent, name);
  mkdirSync(directory, { mode: 0o700 });
  if (root) chownSync(directory, nobody, nobody);
  return directory;
}

/** Whether the postmaster or its children listen on a TCP address. */
function listensOnTcp(postmaster: number): boolean {
  const inodes = new Set<string>();
  for (const table of ["tcp", "tcp6"]) {
    for (const line of readFileSync(`/proc/net/${table}`, "utf8").split("\n").slice(1)) {
      const columns = line.trim().split(/\s+/);
      if (columns[3] === "0A") inodes.add(`socket:[${columns[9]}]`);
    }
  }
  const { stdout } = spawnSync("ls", ["-l", `/proc/${postmaster}/fd`], { encoding: "utf8" });
  return [...inodes].some((inode) => stdout.includes(inode));
}

/** PostgreSQL's log messages that the service passes on. */
function complaints({ told }: EmbeddedProcess): (string | undefined)[] {
  return told.map(({ message }) => message).filter((message) => message?.startsWith("postgresql: "));
}

afterEach(async () => {
  for (const service of started.splice(0)) {
    service.kill("SIGTERM");
    await service.ended;
  }
});

afterAll(() => rmSync(parent, { recursive: true, force: true }));

describe.runIf(!root || everyoneReads)("embedded database, an ordinary user", () => {
  const dataDir = join(ownDirectory("ordinary"), "data");

  it("starts in a missing directory, durable, on a private socket and no TCP port", async () => {
    const service = run(dataDir, ordinary);
    const { connection, pid } = await service.next("ready");
    expect(service.told.map((one) => one.message)).toContain("creating the database (once)…");
    expect(complaints(service)).toEqual([]);
    for (const setting of ["fsync", "synchronous_commit", "full_page_writes"]) {
      expect(await query(connection, `show ${setting}`)).toEqual(["on"]);
    }
    expect(await query(connection, "show listen_addresses")).toEqual([""]);
    expect(await query(connection, "show wal_segment_size")).toEqual(["1MB"]);
    expect(await query(connection, "show server_encoding")).toEqual(["UTF8"]);
    const host = connection?.host as string;
    expect(statSync(host).mode & 0o777).toBe(0o700);
    expect(Buffer.byteLength(`${host}/.s.PGSQL.5432`)).toBeLessThan(100);
    expect(statSync(dataDir).mode & 0o777).toBe(0o700);
    expect(linux && listensOnTcp(pid as number)).toBe(false);
    expect(await runningConnection(dataDir)).toEqual(connection);
    expect(readdirSync(dataDir).sort()).toEqual(["postgresql", "service.lock", "service.pid"]);
  });

  it("creates WAL segments in advance, once", async () => {
    const { connection } = await run(dataDir, ordinary).next("ready");
    const pool = createPool({ connection: connection!, size: 1, onError: () => undefined });
    const { signal } = new AbortController();
    expect(await makeWalAhead(pool, signal, 48)).toBeGreaterThanOrEqual(32);
    const { rows } = await pool.query<{ ahead: number }>(
      `select count(*)::integer as ahead
       from pg_ls_waldir()
       where name > pg_walfile_name(pg_current_wal_insert_lsn())`,
    );
    expect(rows[0]!.ahead).toBeGreaterThanOrEqual(40);
    expect(await makeWalAhead(pool, signal, 48)).toBe(0);
    const disk = statfsSync(dataDir);
    expect((await segmentsThatFit(dataDir)) * 2 ** 20).toBeLessThanOrEqual((disk.bavail * disk.bsize) / 8);
    await pool.end();
  });

  it("waits for the schema in a command that runs before the first service", async () => {
    const early = join(ownDirectory("early"), "data");
    await run(early, ordinary).next("ready");
    const command = startProgram({
      command: [process.execPath, serviceFile, "org", "create", "Acme"],
      env: { POSTRIDER_DATA_DIR: early },
    });
    expect(await command.ended, command.output()).toEqual({ code: 0, signal: null });
    expect(command.output()).toContain("Acme");
  });

  it("refuses a second service on the directory with a message, and does not disturb the first", async () => {
    const first = run(dataDir, ordinary);
    const { connection } = await first.next("ready");
    const second = run(dataDir, ordinary);
    const { message } = await second.next("refused");
    expect(message).toBe(
      `another Postrider (process ${first.pid}) is using the data directory ${dataDir}: stop it, or set POSTRIDER_DATA_DIR to another directory`,
    );
    expect(await query(connection, "select 1")).toEqual([1]);
  });

  it("gives the directory to exactly one of several simultaneous services", async () => {
    const contenders = Array.from({ length: 4 }, () => run(dataDir, ordinary));
    const outcomes = await Promise.all(contenders.map((one) => one.next(["ready", "refused"])));
    expect(outcomes.map((one) => one.event).sort()).toEqual(["ready", "refused", "refused", "refused"]);
  });

  it("leaves no PostgreSQL behind when the start fails while it waits", async () => {
    const halted = ownDirectory("halted");
    const pidFile = join(halted, "postgresql", "postmaster.pid");
    const start = startEmbedded({
      dataDir: halted,
      log: () => undefined,
      whileWaiting: async () => {
        await until(() => existsSync(pidFile), Boolean);
        throw new Error("a module is missing");
      },
    });
    await expect(start).rejects.toThrow("a module is missing");
    expect(existsSync(pidFile)).toBe(false);
  });

  it("names the version that created a database which it cannot open", async () => {
    const file = join(dataDir, "postgresql", "PG_VERSION");
    const version = readFileSync(file, "utf8");
    writeFileSync(file, "17\n");
    const { message } = await run(dataDir, ordinary).next("refused");
    writeFileSync(file, version);
    expect(message).toMatch(/was made by PostgreSQL 17, and this Postrider brings 18: .*pg_dump/);
  });

  it("passes on PostgreSQL's own messages when its files are damaged", async () => {
    const file = join(dataDir, "postgresql", "global", "pg_control");
    const control = readFileSync(file);
    writeFileSync(file, "");
    const { message } = await run(dataDir, ordinary).next("refused");
    writeFileSync(file, control);
    expect(message).toMatch(/^PostgreSQL does not start in .*: .*pg_control/);
  });

  it("names the directory that is not writable", async () => {
    const closed = ownDirectory("closed");
    chmodSync(closed, 0o500);
    const { message } = await run(join(closed, "data"), ordinary).next("refused");
    expect(message).toMatch(/^cannot make the data directory .*closed\/data: EACCES/);
  });

  it("creates the database anew when its creation was interrupted", async () => {
    const interrupted = join(ownDirectory("interrupted"), "data");
    const first = run(interrupted, ordinary);
    await until(() => {
      const unfinished = existsSync(interrupted)
        ? readdirSync(interrupted).find((name) => name.startsWith("postgresql.new-"))
        : undefined;
      return unfinished !== undefined && existsSync(join(interrupted, unfinished, "base", "1"));
    });
    first.kill("SIGKILL");
    await first.ended;
    expect(existsSync(join(interrupted, "postgresql"))).toBe(false);
    const { connection } = await run(interrupted, ordinary).next("ready");
    expect(await query(connection, "select 1")).toEqual([1]);
    expect(readdirSync(interrupted).filter((name) => name.includes("new"))).toEqual([]);
    const making = join(interrupted, "postgresql.new-");
    expect(linux ? processesSaying(making) : []).toEqual([]);
  });

  it("works without Unix sockets: a port of 127.0.0.1 and a password", async () => {
    const service = run(join(ownDirectory("tcp"), "data"), { ...ordinary, transport: "tcp" });
    const { connection } = await service.next("ready");
    expect(connection?.host).toBe("127.0.0.1");
    expect(await runningConnection(join(parent, "tcp", "data"))).toEqual(connection);
    expect(await query(connection, "select 1")).toEqual([1]);
    await expect(
      query({ ...connection, password: "wrong" } as NonNullable<typeof connection>, "select 1"),
    ).rejects.toThrow(/password authentication failed/);
    expect(statSync(join(parent, "tcp", "data", "database-password")).mode & 0o777).toBe(0o600);
  });
});

describe.runIf(root && linux)("embedded database, root", () => {
  it("finds the system's programs when PATH lists none of their folders", async () => {
    const service = run(join(parent, "odd-path"), { env: { PATH: "/nonexistent" } });
    const { event, message } = await service.next(["ready", "refused"]);
    expect(event, message).toBe("ready");
  });

  it("starts in a directory that only root can enter, and keeps its files there", async () => {
    const closed = join(parent, "closed-to-others");
    mkdirSync(closed, { mode: 0o700 });
    const dataDir = join(closed, "data");
    for (const round of ["made", "found"]) {
      const service = run(dataDir);
      const { connection, pid } = await service.next("ready");
      expect(statSync(`/proc/${pid}`).uid).not.toBe(0);
      expect(complaints(service)).toEqual([]);
      await query(connection, `create table ${round} (id integer)`);
      expect(statSync(join(dataDir, "postgresql")).uid).not.toBe(0);
      expect(await query(connection, "select pg_relation_filepath('made')")).toHaveLength(1);
      service.kill("SIGTERM");
      await service.ended;
    }
    expect(statSync(closed).mode & 0o777).toBe(0o700);
  });
});
