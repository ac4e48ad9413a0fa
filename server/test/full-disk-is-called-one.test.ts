import { spawnSync } from "node:child_process";
import { chmodSync, mkdtempSync, rmSync, statfsSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it, vi } from "vitest";
import { createMailboxTarget } from "./support/items.ts";
import { startProgram } from "./support/program.ts";
import { type ServiceProcess, startService } from "./support/serviceProcess.ts";
import { type Account, signUp } from "./support/testNode.ts";
import { until } from "./support/until.ts";

const disk = mkdtempSync(join(tmpdir(), "postrider-disk-"));
vi.setConfig({ testTimeout: 180_000 });

const ballast = join(disk, "ballast");
/** A separate disk needs root and a system that allows mounting. */
const isMounted =
  process.platform === "linux" &&
  spawnSync("/bin/mount", ["-t", "tmpfs", "-o", "size=192m", "tmpfs", disk]).status === 0;

afterAll(() => {
  if (isMounted) spawnSync("/bin/umount", ["--lazy", disk]);
  rmSync(disk, { recursive: true, force: true });
});

describe.runIf(isMounted)("a disk that is full", () => {
  let service: ServiceProcess;
  let account: Account;
  let mailboxId: string;
  const accepted: string[] = [];

  beforeAll(async () => {
    chmodSync(disk, 0o755);
    service = await startService({ storage: { dataDir: join(disk, "data") } });
    account = await signUp(service);
    mailboxId = await createMailboxTarget(service, account);
  });

  it("is reported in the log, in /readyz and in refusals; the service continues once there is space", async () => {
    fill(2);
    await until(
      send,
      ([status, error]) => status === 503 && error.startsWith("the disk of the database is full"),
    );
    await until(ready, ([status, error]) => status === 503 && error === "the disk of the database is full");
    await until(
      () => service.output(),
      (said) => /the disk of the database is full|the disk that holds .*data is full/.test(said),
    );
    rmSync(ballast);
    await until(ready, ([status]) => status === 200);
    expect((await send())[0]).toBe(202);
    const { body } = await service.call("GET", `/api/v1/mailboxes/${mailboxId}/stats`, {
      key: account.api_key,
    });
    // Items answered with 503 during a commit may be stored, too.
    expect(body.ready).toBeGreaterThanOrEqual(accepted.length);
    expect(await service.stop()).toBe(0);
  });

  it("is reported by a start, with an existing database and with none", async () => {
    // The last size has space for the beginning of the cluster that initdb creates.
    for (const [name, leftMib] of [
      ["data", 0],
      ["other", 0],
      ["another", 12],
    ] as const) {
      fill(leftMib);
      const program = startProgram({ env: { POSTRIDER_DATA_DIR: join(disk, name) } });
      expect((await program.ended).code).toBe(1);
      expect(program.output()).toMatch(/^postrider: the disk that holds .* is full: make room/m);
    }
    rmSync(ballast);
    const program = startProgram({ env: { POSTRIDER_DATA_DIR: join(disk, "data") } });
    await program.says(/listens on/);
    program.kill("SIGTERM");
    expect((await program.ended).code).toBe(0);
  });

  /** Fills the disk until this many MiB are left. */
  function fill(mebibytes: number): void {
    rmSync(ballast, { force: true });
    const { bavail, bsize } = statfsSync(disk);
    writeFileSync(ballast, Buffer.alloc(Math.max(0, bavail * bsize - mebibytes * 2 ** 20)));
  }

  async function send(): Promise<[number, string]> {
    const { status, body } = await service.call("POST", `/t/${mailboxId}`, {
      key: account.api_key,
      body: { filler: "x".repeat(100_000) },
    });
    if (status === 202) accepted.push(body.id);
    return [status, body.error ?? ""];
  }

  async function ready(): Promise<[number, string]> {
    const { status, body } = await service.call("GET", "/readyz");
    return [status, body.error ?? ""];
  }
});
