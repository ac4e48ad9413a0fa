import { execFile, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, readdir, rm } from "node:fs/promises";
import { dirname, join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { promisify } from "node:util";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { clusterFolder } from "./support/clusterFolder.ts";
import { installPackage } from "./support/installPackage.ts";
import { startMailServer } from "./support/mailServer.ts";
import { until } from "./support/until.ts";
import { freePort } from "./support/freePort.ts";

const run = promisify(execFile);
const root = join(import.meta.dirname, "../..");
let tree: string;
let cli: string;

describe("the published service", () => {
  beforeAll(async () => {
    tree = await mkdtemp(join(clusterFolder(), "postrider-packed-"));
    const { stdout } = await run(process.execPath, [join(root, "server/scripts/pack.ts"), tree, "service"]);
    cli = await installPackage(stdout.trim(), tree);
  });
  afterAll(async () => {
    await rm(tree, { recursive: true, force: true });
  });

  it("refuses an unknown setting with a message", async () => {
    const env = { PATH: process.env["PATH"], POSTRIDER_DATADIR: tree };
    await expect(run(process.execPath, [cli, "serve"], { env })).rejects.toMatchObject({
      stderr: expect.stringContaining("did you mean POSTRIDER_DATA_DIR?"),
    });
  });

  it("serves with its dashboard, sends mails, includes the client's commands, and stops on request", async () => {
    const port = await freePort();
    const mailServer = await startMailServer();
    const env = {
      PATH: process.env["PATH"],
      PORT: String(port),
      POSTRIDER_DATA_DIR: join(tree, "data"),
      POSTRIDER_SMTP_URL: `smtp://127.0.0.1:${mailServer.port}?tls=off`,
      POSTRIDER_MAIL_FROM: "postrider@example.com",
      POSTRIDER_PUBLIC_URL: "https://postrider.example.com",
    };
    const service = spawn(process.execPath, [cli, "serve"], { env });
    // Through pipes, so that a service which does not stop does not keep the worker's outputs open.
    for (const output of [service.stdout, service.stderr]) output.pipe(process.stderr);
    const ended = once(service, "exit");
    try {
      const url = `http://127.0.0.1:${port}`;
      await untilReady(`${url}/readyz`, ended);
      const page = await fetch(url);
      expect([page.status, page.headers.get("content-type")]).toEqual([
        200,
        expect.stringMatching(/^text\/html/),
      ]);
      // The next start, even after `kill -9`, reuses the code that this one compiled.
      await expect(readdir(join(dirname(cli), "../.compile-cache"))).resolves.toHaveLength(1);
      await resetPassword(url);
      await until(() => mailServer.mails.length === 1);
      const doctor = run(process.execPath, [cli, "doctor"], {
        env: { PATH: process.env["PATH"], POSTRIDER_URL: url, POSTRIDER_KEY: `ak_live_${"0".repeat(64)}` },
      });
      await expect(doctor).rejects.toMatchObject({ code: 3, stdout: expect.stringMatching(/is ready\n/) });
    } finally {
      service.kill("SIGTERM");
      await mailServer.stop();
    }
    expect(await ended).toEqual([0, null]);
  });
});

/** Signs a user up and requests a mail: the mail library is loaded with the first mail. */
async function resetPassword(url: string): Promise<void> {
  const [email, password] = ["ada@example.com", "correct horse battery"];
  for (const [path, body] of [
    ["signup", { email, password }],
    ["password-reset", { email }],
  ] as const) {
    const { status } = await fetch(`${url}/api/v1/auth/${path}`, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify(body),
    });
    expect(status).toBe(200);
  }
}

/** Polls until `url` answers 200; rejects when the process ends first or after a minute. */
async function untilReady(url: string, ended: Promise<unknown[]>): Promise<void> {
  let exit: unknown[] | undefined;
  void ended.then((reason) => {
    exit = reason;
  });
  const deadline = Date.now() + 60_000;
  while (Date.now() < deadline) {
    if (exit !== undefined) throw new Error(`the service ended before it served: ${exit.join(" ")}`);
    const answer = await fetch(url).catch(() => undefined);
    if (answer?.status === 200) return;
    await delay(50);
  }
  throw new Error("the service did not serve within a minute");
}
