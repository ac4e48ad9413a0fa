import { spawn } from "node:child_process";
import { accessSync, constants } from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import { connect } from "node:net";
import { tmpdir } from "node:os";
import { delimiter, join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { Redis } from "ioredis";
import { endWithThis, removeWithThis, stopProcess } from "../processes.ts";

/** The Redis that POSTRIDER_BENCH_REDIS names, or the first on the path; undefined where there is none. */
export function findRedis(environment: NodeJS.ProcessEnv): string | undefined {
  const named = environment["POSTRIDER_BENCH_REDIS"];
  const folders = (environment["PATH"] ?? "").split(delimiter).filter((folder) => folder !== "");
  const candidates =
    named === undefined
      ? folders.flatMap((folder) => ["redis-server", "valkey-server"].map((name) => join(folder, name)))
      : [named];
  return candidates.find((file) => {
    try {
      accessSync(file, constants.X_OK);
      return true;
    } catch {
      return false;
    }
  });
}

/** `always` is as durable as PostgreSQL's commit; `everysec` loses up to a second at a power failure. */
export type RedisFlush = "always" | "everysec";

/** A running Redis. */
export interface RunningRedis {
  /** The path of its socket. */
  socket: string;
  /** Counts the completed jobs of the queue. */
  countCompleted: () => Promise<number>;
  stop: () => Promise<void>;
}

/** Starts a Redis with an append-only file, which listens on a Unix socket. Its folder is removed when it stops. */
export async function startRedis(file: string, flush: RedisFlush): Promise<RunningRedis> {
  const folder = await mkdtemp(join(tmpdir(), "postrider-redis-"));
  removeWithThis(folder);
  const socket = join(folder, "redis.sock");
  const settings = {
    port: "0",
    unixsocket: socket,
    dir: folder,
    save: "",
    appendonly: "yes",
    appendfsync: flush,
    "maxmemory-policy": "noeviction",
  };
  const args = Object.entries(settings).flatMap(([name, value]) => [`--${name}`, value]);
  const child = spawn(file, args, { stdio: ["ignore", "ignore", "inherit"] });
  endWithThis(child);
  for (let tries = 0; !(await answers(socket)); tries++) {
    if (tries === 100 || child.exitCode !== null) throw new Error(`${file} did not start`);
    await delay(50);
  }
  const redis = new Redis({ path: socket });
  return {
    socket,
    countCompleted: () => redis.zcard("bull:deliver:completed"),
    stop: async () => {
      redis.disconnect();
      await stopProcess(child);
      await rm(folder, { recursive: true, force: true });
    },
  };
}

function answers(socket: string): Promise<boolean> {
  return new Promise((resolve) => {
    const connection = connect(socket);
    connection.once("connect", () => {
      connection.destroy();
      resolve(true);
    });
    connection.once("error", () => resolve(false));
  });
}
