import { spawn } from "node:child_process";
import { readdirSync, readFileSync } from "node:fs";
import { createInterface } from "node:readline";
import { setTimeout as delay } from "node:timers/promises";
import pg from "pg";
import { programFile } from "./programFile.ts";
import type { ServerConnection } from "../../src/postgres/pool.ts";

export interface ToldEvent {
  event: "log" | "exit" | "restart" | "stopped" | "ready" | "refused";
  message?: string;
  pid?: number;
  connection?: ServerConnection;
}

/** A process that runs an embedded database, as the service does. */
export interface EmbeddedProcess {
  pid: number;
  told: ToldEvent[];
  /**
   * Resolves to the first such event after the given number of events; rejects after a minute, or when the process
   * ends.
   */
  next: (event: ToldEvent["event"] | ToldEvent["event"][], after?: number) => Promise<ToldEvent>;
  say: (line: string) => void;
  kill: (signal: NodeJS.Signals) => void;
  /** Resolves when the process ends. */
  ended: Promise<void>;
}

const eventLimitMs = 60_000;
const main = programFile("server/test/support/embeddedMain.ts");

export function runEmbedded(
  dataDir: string,
  options: { uid?: number; gid?: number; transport?: "tcp"; env?: Record<string, string> } = {},
): EmbeddedProcess {
  const child = spawn(process.execPath, [main, dataDir, options.transport ?? "socket"], {
    stdio: ["pipe", "pipe", "inherit"],
    ...(options.uid === undefined ? {} : { uid: options.uid, gid: options.gid }),
    env: { ...process.env, ...options.env },
  });
  const told: ToldEvent[] = [];
  const lines = createInterface(child.stdout);
  lines.on("line", (line) => told.push(JSON.parse(line) as ToldEvent));
  const ended = new Promise<void>((resolve) => child.once("exit", () => resolve()));
  const silent = new Promise<void>((resolve) => lines.once("close", resolve));
  return {
    pid: child.pid as number,
    told,
    next: async (event, after = 0) => {
      const wanted = [event].flat();
      const deadline = Date.now() + eventLimitMs;
      for (;;) {
        const found = told.slice(after).find((one) => wanted.includes(one.event));
        if (found !== undefined) return found;
        const over = await Promise.race([silent.then(() => true), delay(20, false)]);
        const late = told.slice(after).some((one) => wanted.includes(one.event));
        if (!late && (over || Date.now() > deadline)) {
          throw new Error(`no ${wanted.join(" or ")}: ${JSON.stringify(told)}`);
        }
      }
    },
    say: (line) => void child.stdin.write(`${line}\n`),
    kill: (signal) => void child.kill(signal),
    ended,
  };
}

/** Runs statements on the database, on a new connection. */
export async function query(connection: ServerConnection | undefined, sql: string): Promise<unknown[]> {
  const client = new pg.Client(connection);
  client.on("error", () => undefined);
  await client.connect();
  try {
    const { rows } = await client.query<Record<string, unknown>>(sql);
    return rows.map((row) => Object.values(row)[0]);
  } finally {
    await client.end().catch(() => undefined);
  }
}

/** Whether a process runs; a zombie process does not. */
export function isRunning(pid: number): boolean {
  try {
    process.kill(pid, 0);
    if (process.platform !== "linux") return true;
    return !/^State:\s+[ZX]/m.test(readFileSync(`/proc/${pid}/status`, "utf8"));
  } catch {
    return false;
  }
}

/** Processes whose command line contains the text; Linux only. */
export function processesSaying(text: string): number[] {
  return readdirSync("/proc")
    .filter((entry) => /^\d+$/.test(entry))
    .map(Number)
    .filter((pid) => {
      try {
        return pid !== process.pid && readFileSync(`/proc/${pid}/cmdline`, "utf8").includes(text);
      } catch {
        return false;
      }
    });
}
