import { spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { chmodSync, existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { startProgram } from "./processes.ts";

const here = (file: string): string => JSON.stringify(new URL(file, import.meta.url).href);

test("the error of a program that ends before it is ready names the program", async () => {
  await expect(startProgram("./peers/peerProgram.ts", ["prepare", "{}"])).rejects.toThrow(
    "./peers/peerProgram.ts ended with 1 before it was ready",
  );
});

/** A program that writes to the folder while it ends. */
const writer = `process.once("SIGTERM", () => setTimeout(() => {
  fs.mkdirSync(process.argv[1] + "/late", { recursive: true });
  process.exit();
}, 300));
setInterval(() => undefined, 1_000);
console.log("ready");`;

const benchmark = `
import { spawn } from "node:child_process";
import { once } from "node:events";
const { endOnSignals, endWithThis } = await import(${here("./processes.ts")});
const { inTemporaryDirectory } = await import(${here("./workload.ts")});
endOnSignals();
await inTemporaryDirectory(async (folder) => {
  const child = spawn(process.execPath, ["-e", ${JSON.stringify(writer)}, folder]);
  endWithThis(child);
  await once(child.stdout, "data");
  console.log(folder);
  await once(child, "exit");
  throw new Error("the process has ended");
});`;

test.each(["SIGINT", "SIGTERM"] as const)(
  "a benchmark that is stopped by %s leaves no folder",
  async (signal) => {
    const child = spawn(process.execPath, ["--input-type=module", "-e", benchmark]);
    let complaints = "";
    child.stderr.on("data", (piece: Buffer) => (complaints += piece.toString()));
    const [line] = (await once(child.stdout, "data")) as [Buffer];
    const folder = line.toString().trim();
    expect(existsSync(folder)).toBe(true);
    child.kill(signal);
    const [code] = (await once(child, "close")) as [number];
    expect([code, complaints, existsSync(folder)]).toEqual([1, "", false]);
  },
);

test("a Redis ends with the benchmark", () => {
  const folder = mkdtempSync(join(tmpdir(), "postrider-bench-test-"));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  const [redis, pidFile] = [join(folder, "redis"), join(folder, "pid")];
  writeFileSync(
    redis,
    `#!/bin/sh\necho $$ > '${pidFile}.new' && mv '${pidFile}.new' '${pidFile}'\nexec sleep 300\n`,
  );
  chmodSync(redis, 0o755);
  const program = `
import { existsSync } from "node:fs";
const { startRedis } = await import(${here("./peers/redis.ts")});
setInterval(() => existsSync(${JSON.stringify(pidFile)}) && process.exit(), 10);
await startRedis(${JSON.stringify(redis)}, "always");`;
  // Without a pipe: spawnSync would wait until the Redis closed it.
  spawnSync(process.execPath, ["--input-type=module", "-e", program], { stdio: "ignore" });
  const pid = Number(readFileSync(pidFile, "utf8"));
  onTestFinished(() => {
    if (isRunning(pid)) process.kill(pid);
  });
  return expect.poll(() => isRunning(pid)).toBe(false);
});

function isRunning(pid: number): boolean {
  const stat = spawnSync("ps", ["-o", "stat=", "-p", String(pid)])
    .stdout.toString()
    .trim();
  return stat !== "" && !stat.startsWith("Z");
}

test("--stored is refused if it is not a whole number", () => {
  const path = new URL("./main.ts", import.meta.url).pathname;
  const { status, stderr } = spawnSync(process.execPath, [path, "--stored", "1e7", "--help"]);
  expect([status, stderr.toString()]).toEqual([
    1,
    expect.stringContaining("--stored must be a whole number, without separators: 1e7"),
  ]);
});
