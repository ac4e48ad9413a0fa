import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, beforeEach, expect, it, vi } from "vitest";
import { lockDirectory } from "../src/postgres/embedded/directoryLock.ts";
import { moveDatabase } from "../src/process/commands/moveDatabase.ts";
import { startAlone } from "../src/process/commands/openAsItIs.ts";
import { loadOrMakeKey } from "../src/process/database/encryptionKey.ts";
import { markMoved, readMove, unmarkMoved } from "../src/process/database/movedMarker.ts";
import { clusterFolder } from "./support/clusterFolder.ts";
import { createEmptyTestDatabase, type TestDatabase } from "./support/database.ts";

const dataDir = mkdtempSync(join(clusterFolder(), "postrider-moves-"));
const other = {
  to: "db.example:5432/postrider",
  id: "6f1f2a52-5d0b-4a6c-8f0e-6a4f1f0a7c11",
  at: 1_795_000_000,
};
let database: TestDatabase;

beforeAll(async () => {
  database = await createEmptyTestDatabase();
  loadOrMakeKey(dataDir);
  const embedded = await startAlone(dataDir, { command: "postrider restore", say: () => undefined });
  await embedded.close();
});

beforeEach(() => unmarkMoved(dataDir));

afterAll(async () => {
  await database.drop();
  rmSync(dataDir, { recursive: true, force: true });
});

function move(mayStop: boolean): Promise<void> {
  const env = { POSTRIDER_DATA_DIR: dataDir, DATABASE_URL: database.url };
  return moveDatabase(env, mayStop, { say: () => undefined, show: () => undefined });
}

it("a move that waited for another one keeps the record of the items' location", async () => {
  const unlock = await lockDirectory(dataDir);
  const second = move(false);
  markMoved(dataDir, { ...other, isDone: true });
  unlock();
  await expect(second).rejects.toThrow(/was moved to db\.example:5432\/postrider/);
  expect(readMove(dataDir)).toEqual({ ...other, isDone: true });
});

it.for(["postrider move", "postrider restore", "postrider org"])(
  "a move does not end %s, as it would end a service",
  async (command) => {
    const unlock = await lockDirectory(dataDir, { command });
    let isAskedToEnd = false;
    const onTerm = (): void => void (isAskedToEnd = true);
    process.on("SIGTERM", onTerm);
    try {
      await expect(move(true)).rejects.toThrow(
        `${command} (process ${process.pid}) is using the data directory ${dataDir}: wait until it has ended`,
      );
      expect(isAskedToEnd).toBe(false);
    } finally {
      unlock();
      process.off("SIGTERM", onTerm);
    }
  },
);

it.for([process.pid, 1, 2 ** 31 - 1])(
  "a move reports that it cannot end a service of another container, which has process id %i there",
  async (pid) => {
    const unlock = await lockDirectory(dataDir);
    const ended = vi.fn<() => void>();
    process.on("SIGTERM", ended);
    try {
      writeFileSync(join(dataDir, "service.pid"), `${pid}\n`);
      await expect(move(true)).rejects.toThrow(/cannot be stopped from here .*: stop it where it runs/);
      expect(ended).not.toHaveBeenCalled();
    } finally {
      process.off("SIGTERM", ended);
      unlock();
    }
  },
);
