import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { fingerprintOf, withSnapshot } from "../backup/takeSnapshot.ts";
import type { Loaded } from "../backup/load.ts";
import { type Config, loadConfig } from "../config/config.ts";
import { version } from "../config/version.ts";
import { clusterPath } from "../postgres/embedded/cluster.ts";
import { lockDirectory } from "../postgres/embedded/directoryLock.ts";
import { CommandError } from "./commandError.ts";
import { placeOf } from "./database.ts";
import type { Talk } from "./databaseCommands.ts";
import { existingKey, keyPath } from "./encryptionKey.ts";
import { markMoved, unmarkMoved } from "./movedMarker.ts";
import { startAlone } from "./openAsItIs.ts";
import { loadInto } from "./restore.ts";

/** A service has 25 s to end by itself; its database comes after it. */
const stopLimitMs = 90_000;

/**
 * Moves the embedded database to that of DATABASE_URL. Nothing is accepted meanwhile: the service is ended first, and cannot
 * be started on the old database afterwards, so that each item answered with 202 is in the new one.
 */
export async function moveDatabase(env: NodeJS.ProcessEnv, mayStop: boolean, talk: Talk): Promise<void> {
  const { dataDir, databaseUrl, encryptionKey } = configOfMove(env);
  const to = placeOf(databaseUrl);
  await endService(dataDir, mayStop, talk.say);
  talk.say(`Moving the database in ${dataDir} to ${to} …`);
  const database = await startAlone(dataDir, talk.say);
  let loaded: Loaded;
  try {
    markMoved(dataDir, { to, at: nowSeconds(), isDone: false });
    const source = { connection: database.connection, encryptionKey, version, nowMs: Date.now() };
    loaded = await withSnapshot(source, (contents) => loadInto({ url: databaseUrl }, contents));
    markMoved(dataDir, { to, at: nowSeconds(), isDone: true });
  } catch (error) {
    unmarkMoved(dataDir);
    throw error;
  } finally {
    await database.close();
  }
  talk.say(
    `Start the service with DATABASE_URL and POSTRIDER_ENCRYPTION_KEY, whose value is in ${keyPath(dataDir)} (fingerprint ${fingerprintOf(encryptionKey)}); ${dataDir} stays as it was, for as long as you want it`,
  );
  talk.show({ from: dataDir, to, ...loaded });
}

interface Move {
  dataDir: string;
  databaseUrl: string;
  encryptionKey: Buffer;
}

/** The key is the data directory's own: the secrets that move are sealed with it. */
function configOfMove(env: NodeJS.ProcessEnv): Move {
  const here = loadConfig({ ...env, DATABASE_URL: "" });
  if (!existsSync(clusterPath(here.dataDir))) {
    throw new CommandError(
      `there is no database in ${here.dataDir}: set POSTRIDER_DATA_DIR to where the service has it`,
      "notFound",
    );
  }
  const encryptionKey = keyOf(here);
  const there = loadConfig({ ...env, POSTRIDER_ENCRYPTION_KEY: encryptionKey.toString("base64") });
  if (there.databaseUrl === undefined) {
    throw new CommandError("set DATABASE_URL to the PostgreSQL that the database is to be moved to", "usage");
  }
  return { dataDir: here.dataDir, databaseUrl: there.databaseUrl, encryptionKey };
}

function keyOf({ dataDir, encryptionKey }: Config): Buffer {
  const kept = existingKey(dataDir);
  if (kept !== undefined && encryptionKey !== undefined && !kept.equals(encryptionKey)) {
    throw new CommandError(
      `POSTRIDER_ENCRYPTION_KEY (${fingerprintOf(encryptionKey)}) differs from ${keyPath(dataDir)} (${fingerprintOf(kept)}): remove the one that the service did not use`,
      "credential",
    );
  }
  const key = encryptionKey ?? kept;
  if (key !== undefined) return key;
  throw new CommandError(`${keyPath(dataDir)} is missing: set POSTRIDER_ENCRYPTION_KEY`, "credential");
}

/** @throws {CommandError} when a service runs and may not be stopped, or does not end. */
async function endService(dataDir: string, mayStop: boolean, say: (line: string) => void): Promise<void> {
  const deadlineMs = performance.now() + stopLimitMs;
  let isAsked = false;
  for (;;) {
    try {
      // Whoever has the lock is the service; it waits two seconds for it.
      const unlock = await lockDirectory(dataDir);
      unlock();
      return;
    } catch (cause) {
      if (!mayStop) {
        throw new CommandError(
          `a service runs on ${dataDir}: stop it, or add --stop-service to end it for the move`,
          "conflict",
          { cause },
        );
      }
      if (performance.now() > deadlineMs) throw cause;
      if (!isAsked) stopService(dataDir, say);
      isAsked = true;
    }
  }
}

function stopService(dataDir: string, say: (line: string) => void): void {
  const pid = Number(readFileSync(join(dataDir, "service.pid"), "utf8"));
  if (!Number.isInteger(pid) || pid <= 1)
    throw new CommandError(`the service on ${dataDir} is unknown: stop it`, "failed");
  say(`Ending the service (process ${pid}) …`);
  process.kill(pid, "SIGTERM");
}

function nowSeconds(): number {
  return Math.floor(Date.now() / 1000);
}
