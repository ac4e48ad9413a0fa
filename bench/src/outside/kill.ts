import { spawn } from "node:child_process";
import { setTimeout as delay } from "node:timers/promises";
import { pidsOf } from "./watched.ts";

/** Kills the service during the measurement and starts it again. */
export interface Kill {
  afterMs: number;
  /** Each is a process id or `:PORT`. */
  processes: readonly string[];
  /** Shell command that starts the service again. */
  restart: string;
}

/**
 * After `afterMs` milliseconds, kills the processes with SIGKILL and runs the restart command at once. The restarted processes
 * keep running after the measurement; their output goes to the standard error.
 */
export async function killAndRestart({ afterMs, processes, restart }: Kill): Promise<{ pid: number }> {
  const names = await Promise.all(processes.map(pidsOf));
  await delay(afterMs);
  for (const pid of names.flat()) process.kill(Number(pid), "SIGKILL");
  const child = spawn("sh", ["-c", restart], { detached: true, stdio: ["ignore", 2, 2] });
  await new Promise((resolve, reject) => child.once("spawn", resolve).once("error", reject));
  child.unref();
  return { pid: child.pid! };
}
