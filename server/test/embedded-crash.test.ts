import { spawn } from "node:child_process";
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { basename, join } from "node:path";
import { afterAll, afterEach, beforeEach, describe, expect, it } from "vitest";
import type { ServerConnection } from "../src/postgres/pool.ts";
import {
  isRunning,
  processesSaying,
  query,
  runEmbedded,
  type EmbeddedProcess,
} from "./support/embeddedProcess.ts";
import { until } from "./support/until.ts";
import { clusterFolder } from "./support/clusterFolder.ts";

const dataDir = mkdtempSync(join(clusterFolder(), "postrider-crash-"));
let service: EmbeddedProcess;
let connection: ServerConnection;
let postmaster: number;
let written = 0;

async function start(): Promise<void> {
  service = runEmbedded(dataDir);
  const ready = await service.next("ready");
  connection = ready.connection as ServerConnection;
  postmaster = ready.pid as number;
}

/** Commits one more row; the number of rows must never be less than the number of commits. */
async function write(): Promise<void> {
  await query(connection, "create table if not exists kept (id integer)");
  await query(connection, `insert into kept values (${++written})`);
}

/** The number of rows in the database; every confirmed commit added one. */
async function kept(): Promise<unknown> {
  return (await query(connection, "select count(*)::integer from kept"))[0];
}

function noProcessLeft(): boolean {
  return !isRunning(postmaster) && processesSaying(basename(connection.host)).length === 0;
}

beforeEach(async () => {
  await start();
  await write();
});

afterEach(async () => {
  service.kill("SIGTERM");
  await service.ended;
  await until(noProcessLeft);
});

afterAll(() => rmSync(dataDir, { recursive: true, force: true }));

describe.runIf(process.platform === "linux")("embedded database, crashes", () => {
  it("ends by itself when the service is killed, and keeps committed data", async () => {
    service.kill("SIGKILL");
    await until(noProcessLeft);
    await start();
    expect(await kept()).toBe(written);
  });

  it("lets the next service start while the killed service's database is still stopping", async () => {
    service.kill("SIGKILL");
    await service.ended;
    await start();
    expect(await kept()).toBe(written);
  });

  it("is restarted when the postmaster is killed, and clients only need to reconnect", async () => {
    const before = service.told.length;
    process.kill(postmaster, "SIGKILL");
    await service.next("exit", before);
    const restart = await service.next("restart", before);
    expect(restart.pid).not.toBe(postmaster);
    postmaster = restart.pid as number;
    expect(await kept()).toBe(written);
  });

  it("is restarted while a backend of the killed postmaster is still busy", async () => {
    const before = service.told.length;
    const endless = "select count(*) from generate_series(1, 100000) a, generate_series(1, 100000000) b";
    const busy = query(connection, endless).catch(() => "ended");
    await until(async () => {
      const states = await query(connection, `select state from pg_stat_activity where query = '${endless}'`);
      return states.includes("active");
    });
    process.kill(postmaster, "SIGKILL");
    postmaster = (await service.next("restart", before)).pid as number;
    expect(await busy).toBe("ended");
    expect(await kept()).toBe(written);
  });

  it("survives the death of the service, the guard and PostgreSQL at once", async () => {
    for (const pid of [...processesSaying(`postrider-guard\0${postmaster}`), service.pid, postmaster]) {
      process.kill(pid, "SIGKILL");
    }
    await service.ended;
    await start();
    expect(await kept()).toBe(written);
  });

  it("stops the orphan that is left when the service and the guard die together", async () => {
    const orphan = postmaster;
    for (const pid of [service.pid, ...processesSaying(`postrider-guard\0${orphan}`)])
      process.kill(pid, "SIGKILL");
    await service.ended;
    expect(isRunning(orphan)).toBe(true);
    await start();
    expect(isRunning(orphan)).toBe(false);
    expect(await kept()).toBe(written);
  });

  it("gets a new guard when its guard is killed", async () => {
    const guards = processesSaying(`postrider-guard\0${postmaster}`);
    expect(guards).toHaveLength(1);
    process.kill(guards[0] as number, "SIGKILL");
    await until(() => {
      const now = processesSaying(`postrider-guard\0${postmaster}`);
      return now.length === 1 && now[0] !== guards[0];
    });
    service.kill("SIGKILL");
    await until(noProcessLeft);
    await start();
    expect(await kept()).toBe(written);
  });

  it("is not stopped by the interrupt that a terminal sends to the service's group", async () => {
    for (const pid of processesSaying(basename(connection.host))) {
      const group = readFileSync(`/proc/${pid}/stat`, "utf8").split(" ")[4];
      expect(group).not.toBe(String(service.pid));
    }
    expect(await kept()).toBe(written);
  });

  it("starts despite stale pid and socket files, even when the process id now belongs to another program", async () => {
    service.kill("SIGTERM");
    await service.ended;
    const stranger = spawn("sleep", ["60"]);
    const cluster = join(dataDir, "postgresql");
    const pidFile = `${stranger.pid}\n${cluster}\n1700000000\n5432\n${connection.host}\n\n  1 2\nready\n`;
    writeFileSync(join(cluster, "postmaster.pid"), pidFile);
    rmSync(connection.host, { recursive: true, force: true });
    mkdirSync(connection.host, { mode: 0o700 });
    writeFileSync(join(connection.host, ".s.PGSQL.5432"), "");
    writeFileSync(join(connection.host, ".s.PGSQL.5432.lock"), pidFile);
    await start();
    expect(await kept()).toBe(written);
    expect(isRunning(stranger.pid as number)).toBe(true);
    stranger.kill("SIGKILL");
  });

  it("leaves nothing behind when it is stopped in order", async () => {
    service.say("stop");
    await service.next("stopped");
    await service.ended;
    expect(noProcessLeft()).toBe(true);
    expect(readdirSync(join(dataDir, "postgresql"))).not.toContain("postmaster.pid");
    expect(service.told.filter((one) => one.event === "log")).toEqual([]);
  });
});
