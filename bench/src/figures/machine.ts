import { execFileSync } from "node:child_process";
import { closeSync, fdatasyncSync, openSync, writeSync } from "node:fs";
import { rm } from "node:fs/promises";
import { arch, cpus, platform, totalmem } from "node:os";
import { join } from "node:path";
import { inTemporaryDirectory } from "../workload.ts";
import { type Machine, rounded } from "./record.ts";

const flushingMs = 1_000;

/** Describes the machine. PostgreSQL's version is added later, because it is known only when the database runs. */
export async function describeMachine(): Promise<Omit<Machine, "postgres">> {
  const processors = cpus();
  const flushes = await flushesPerSecond(8 * 1_024);
  const large = await flushesPerSecond(2 ** 20);
  return {
    cpu: processors[0]?.model ?? "unknown",
    cores: processors.length,
    memoryGiB: Math.round(totalmem() / 2 ** 30),
    system: `${platform()} ${arch()}`,
    flushesPerSecond: rounded(flushes),
    flushedMegabytesPerSecond: rounded((large * 2 ** 20) / 1e6),
    node: process.version,
  };
}

/** Number of sequential writes of this size, each followed by fdatasync, per second on the disk of the benchmark's data. */
function flushesPerSecond(bytes: number): Promise<number> {
  return inTemporaryDirectory(async (folder) => {
    const path = join(folder, "flushed");
    const file = openSync(path, "w");
    const piece = Buffer.alloc(bytes, 1);
    let flushes = 0;
    const startedAt = performance.now();
    while (performance.now() - startedAt < flushingMs) {
      writeSync(file, piece);
      fdatasyncSync(file);
      flushes++;
    }
    const seconds = (performance.now() - startedAt) / 1_000;
    closeSync(file);
    await rm(path);
    return flushes / seconds;
  });
}

/** The measured commit, followed by `+` if files of the product or the benchmark differ from it. */
export function measuredCommit(): string {
  const git = (...args: string[]): string =>
    execFileSync("git", args, { cwd: import.meta.dirname, encoding: "utf8" }).trim();
  const changed = git("status", "--porcelain", "--untracked-files=no", "--", ":/server", ":/bench", ":/sdk");
  return `${git("rev-parse", "--short=10", "HEAD")}${changed === "" ? "" : "+"}`;
}
