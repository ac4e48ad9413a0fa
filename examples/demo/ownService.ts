import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, rm } from "node:fs/promises";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

export interface OwnService {
  url: string;
  stop(): Promise<void>;
}

const cli = fileURLToPath(new URL("../../server/src/process/cli.ts", import.meta.url));
const startLimitMs = 60_000;

/** Starts a service on a free port with a temporary directory; `stop` ends the service and removes the directory. */
export async function startOwnService(say: (line: string) => void): Promise<OwnService> {
  const dataDir = await mkdtemp(join(tmpdir(), "postrider-demo-"));
  const port = await freePort();
  say("Starting a Postrider of the demo's own: its database is made first, which takes a few seconds …");
  const child = spawn(process.execPath, [cli, "serve"], {
    stdio: ["ignore", "ignore", "pipe"],
    env: {
      PATH: process.env["PATH"],
      PORT: String(port),
      POSTRIDER_DATA_DIR: dataDir,
      POSTRIDER_ALLOW_HTTP_TARGETS: "true",
      POSTRIDER_ALLOWED_NETWORKS: "127.0.0.0/8",
    },
  });
  const words: string[] = [];
  child.stderr.on("data", (chunk: Buffer) => words.push(String(chunk)));
  const ended = once(child, "exit");
  async function stop(): Promise<void> {
    child.kill("SIGTERM");
    await ended;
    await rm(dataDir, { recursive: true, force: true });
  }
  const url = `http://127.0.0.1:${port}`;
  const deadline = performance.now() + startLimitMs;
  while (performance.now() < deadline && child.exitCode === null) {
    const answer = await fetch(`${url}/readyz`).catch(() => undefined);
    if (answer?.ok) return { url, stop };
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
  await stop();
  throw new Error(`the service did not start: ${words.join("")}`);
}

async function freePort(): Promise<number> {
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const address = server.address();
  await new Promise((resolve) => server.close(resolve));
  if (typeof address === "object" && address !== null) return address.port;
  throw new Error("this machine has no free port");
}
