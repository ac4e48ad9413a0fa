import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type pg from "pg";
import { expect, onTestFinished } from "vitest";
import { runDatabaseCommand, type Ended } from "../../../test/support/databaseCommand.ts";
import type { TestDatabase } from "../../../test/support/database.ts";
import { stageTest as it } from "../../../test/support/fixtures.ts";
import { countLockWaits, holdReading } from "../../../test/support/heldLocks.ts";
import { lockDirectory } from "../../postgres/embedded/directoryLock.ts";
import { removeEmbedded } from "../../postgres/embedded/startEmbedded.ts";
import { migrationLockKey } from "../../postgres/migrate.ts";
import { newProcessRecord, noteAlive } from "../../postgres/processes.ts";

const key = Buffer.alloc(32, 7).toString("base64");

function reset({ url }: TestDatabase): Promise<Ended> {
  return runDatabaseCommand(["reset", "--yes"], { DATABASE_URL: url, POSTRIDER_ENCRYPTION_KEY: key });
}

/** Takes the lock that a starting service holds. @returns a function that releases it. */
async function lockSchema(pool: pg.Pool): Promise<() => void> {
  const client = await pool.connect();
  await client.query("select pg_advisory_lock($1)", [migrationLockKey]);
  let isHeld = true;
  const letGo = (): void => {
    if (isHeld) client.release(true);
    isHeld = false;
  };
  onTestFinished(letGo);
  return letGo;
}

it("a reset mentions the encryption key's file only if that file exists", async ({}) => {
  const dataDir = mkdtempSync(join(tmpdir(), "postrider-reset-"));
  onTestFinished(() => rmSync(dataDir, { recursive: true, force: true }));
  const resetEmbedded = (): Promise<Ended> => {
    mkdirSync(join(dataDir, "postgresql"));
    return runDatabaseCommand(["reset", "--yes"], { POSTRIDER_DATA_DIR: dataDir });
  };
  expect(await resetEmbedded()).toMatchObject({ code: 0, err: "" });
  writeFileSync(join(dataDir, "encryption.key"), key, { mode: 0o600 });
  expect(await resetEmbedded()).toMatchObject({
    code: 0,
    err: expect.stringMatching(/encryption key stays/),
  });
});

it("of two resets at once the second finds nothing to remove", async ({}) => {
  const dataDir = mkdtempSync(join(tmpdir(), "postrider-reset-"));
  onTestFinished(() => rmSync(dataDir, { recursive: true }));
  mkdirSync(join(dataDir, "postgresql"));
  const unlock = await lockDirectory(dataDir, { command: "postrider reset" });
  const second = removeEmbedded(dataDir, { command: "postrider reset" });
  rmSync(join(dataDir, "postgresql"), { recursive: true });
  unlock();
  expect(await second).toBe(false);
});

it("a reset waits for a starting service, and then refuses to run", async ({ database, pool }) => {
  const letGo = await lockSchema(pool);
  const resetting = reset(database);
  await expect.poll(() => countLockWaits(pool)).toBe(1);
  await noteAlive(pool, newProcessRecord("1.2.3"));
  letGo();
  const { code, err } = await resetting;
  expect([code, err]).toEqual([5, expect.stringMatching(/a service runs on the database/)]);
});

it("when two resets run at once, one removes everything and the other finds nothing", async ({
  database,
  pool,
}) => {
  const letGo = await holdReading(pool, "organizations");
  const resetting = [reset(database), reset(database)];
  await expect.poll(() => countLockWaits(pool)).toBe(2);
  await letGo();
  const ended = await Promise.all(resetting);
  expect(ended.map(({ code, err }) => [code, err.replace(/^Waiting .*/, "")])).toEqual([
    [0, ""],
    [0, ""],
  ]);
  const removed = ended.map(({ out }) => (JSON.parse(out) as { removed: boolean }).removed);
  expect(new Set(removed)).toEqual(new Set([true, false]));
});
