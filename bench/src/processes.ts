import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { fileURLToPath } from "node:url";

/** A program of the benchmark in a process of its own. */
export interface Program {
  port: number;
  stop(): Promise<void>;
}

/** Starts a program that prints its port as its first line. */
export async function startProgram(file: string, args: string[] = []): Promise<Program> {
  const path = fileURLToPath(new URL(file, import.meta.url));
  const child = spawn(process.execPath, [path, ...args], { stdio: ["ignore", "pipe", "inherit"] });
  endWithThis(child);
  const [line] = (await once(child.stdout, "data")) as [Buffer];
  return { port: Number(String(line).trim()), stop: () => stopProcess(child) };
}

const running = new Set<ChildProcess>();
process.once("exit", () => {
  for (const child of running) child.kill();
});

/** Ends a process together with this one, so that a benchmark that fails leaves none behind. */
export function endWithThis(child: ChildProcess): void {
  running.add(child);
  child.once("exit", () => running.delete(child));
}

/** Asks a process to end and waits until it has. */
export async function stopProcess(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const ended = once(child, "exit");
  child.kill("SIGTERM");
  await ended;
}
