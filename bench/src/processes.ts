import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { rmSync } from "node:fs";
import { fileURLToPath } from "node:url";

/** A program of the benchmark in a process of its own. */
export interface Program {
  port: number;
  stop(): Promise<void>;
}

/** Starts a program that prints its port as its first line. @throws when it ends before that. */
export async function startProgram(file: string, args: string[] = []): Promise<Program> {
  const path = fileURLToPath(new URL(file, import.meta.url));
  const child = spawn(process.execPath, [path, ...args], { stdio: ["ignore", "pipe", "inherit"] });
  endWithThis(child);
  const [line] = (await Promise.race([
    once(child.stdout, "data"),
    once(child, "close").then(([code]) => {
      throw new Error(`${file} ended with ${String(code)} before it was ready`);
    }),
  ])) as [Buffer];
  return { port: Number(String(line).trim()), stop: () => stopProcess(child) };
}

const running = new Set<ChildProcess>();
const folders = new Set<string>();
process.once("exit", () => {
  for (const child of running) child.kill();
  for (const folder of folders) rmSync(folder, { recursive: true, force: true, maxRetries: 10 });
});

/** Ends a child process when this process ends, so that a failed benchmark leaves no processes behind. */
export function endWithThis(child: ChildProcess): void {
  running.add(child);
  child.once("exit", () => running.delete(child));
}

/** Ends all running child processes, and waits until they have ended. */
export async function endRunning(): Promise<void> {
  await Promise.all([...running].map(stopProcess));
}

/**
 * At SIGINT and SIGTERM, ends the child processes first, because they may write to folders that will be removed, and then this
 * process. A second signal ends this process at once.
 */
export function endOnSignals(): void {
  for (const signal of ["SIGINT", "SIGTERM"] as const) {
    process.once(signal, () => {
      // The measurement fails when its processes end. That error is expected and not printed.
      process.on("uncaughtException", () => undefined);
      void endRunning().finally(() => process.exit(1));
    });
  }
}

/** Removes a folder, if it is still there, when this process ends. */
export function removeWithThis(folder: string): void {
  folders.add(folder);
}

/** Asks a process to end, and waits until it has ended. */
export async function stopProcess(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const ended = once(child, "exit");
  child.kill("SIGTERM");
  await ended;
}
