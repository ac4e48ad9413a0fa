import { spawn } from "node:child_process";
import { once } from "node:events";
import { createServer } from "node:net";
import type { AddressInfo } from "node:net";
import { expect, onTestFinished, test } from "vitest";
import { pidsOf, useOf } from "./watched.ts";

test("finds the process that listens on a port", async () => {
  const server = createServer();
  await new Promise<void>((resolve) => void server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo;
  expect(await pidsOf(`:${port}`)).toEqual([String(process.pid)]);
  await new Promise((resolve) => server.close(resolve));
  await expect(pidsOf(`:${port}`)).rejects.toThrow(`no process listens on port ${port}`);
});

test("counts the processor time of children, including those that have ended", async () => {
  const burn = 'while (process.cpuUsage().user < 300_000); console.log("done")';
  const parent = `const { execFileSync, spawn } = require("node:child_process");
    execFileSync(process.execPath, ["-e", ${JSON.stringify(burn)}]);
    spawn(process.execPath, ["-e", ${JSON.stringify(`${burn}; setInterval(() => 0, 1000)`)}], { stdio: "inherit" });`;
  const child = spawn(process.execPath, ["-e", parent], {
    detached: true,
    stdio: ["ignore", "pipe", "inherit"],
  });
  onTestFinished(() => void process.kill(-child.pid!, "SIGKILL"));
  await once(child.stdout, "data");
  const { seconds, memoryBytes } = await useOf([String(child.pid)]);
  expect(seconds).toBeGreaterThan(0.5);
  expect(memoryBytes).toBeGreaterThan(10_000_000);
});

test("refuses the id of a process that is gone, and a name that is no id or port", async () => {
  await expect(useOf(["4194999"])).rejects.toThrow("there is no process 4194999");
  await expect(pidsOf("postgres")).rejects.toThrow("neither a process id nor a port");
});
