import { randomUUID } from "node:crypto";
import pg from "pg";
import { refuseUnlessEmpty } from "../../backup/emptiness.ts";
import { fingerprintOf, openSession, withSnapshot } from "../../backup/takeSnapshot.ts";
import { isFilledBy, type Loaded } from "../../backup/load.ts";
import { type Config, loadConfig } from "../../config/config.ts";
import { version } from "../../config/version.ts";
import { DirectoryInUseError, type Holder, lockDirectory } from "../../postgres/embedded/directoryLock.ts";
import { refuseOtherEncodings } from "../../postgres/applyMigrations.ts";
import type { DatabaseConnection } from "../../postgres/pool.ts";
import { explainRefusal, placeOf } from "../../postgres/untilServes.ts";
import { beforeInterrupt } from "../../runtime/beforeInterrupt.ts";
import { CommandError } from "../../runtime/commandError.ts";
import type { Talk } from "./command.ts";
import { existingKey, keyPath, refuseForeignKey } from "../database/encryptionKey.ts";
import { lockSettings } from "../database/lockRoom.ts";
import { markMoved, type Move, readMove, refusalOf, unmarkMoved } from "../database/movedMarker.ts";
import { checkVersion } from "../database/openDatabase.ts";
import { refuseWithoutDatabase } from "../database/openOrJoin.ts";
import { startAlone } from "./openAsItIs.ts";
import { bringUpToDate, loadInto } from "./restore.ts";

const command = "postrider move";
/** A service may take 25 s to stop; its embedded database stops after it. */
const stopLimitMs = 90_000;

/**
 * Moves the embedded database to that of DATABASE_URL. No item is accepted during the move: the service is stopped first, and
 * cannot be started on the old database afterwards, so that each item answered with 202 is in the new one. The next move finishes
 * an interrupted one: all rows are loaded in one transaction, which also stores the move's id.
 */
export async function moveDatabase(env: NodeJS.ProcessEnv, mayStop: boolean, talk: Talk): Promise<void> {
  const places = configOfMove(env);
  const { dataDir, databaseUrl, encryptionKey } = places;
  if (unfinishedMove(dataDir, databaseUrl) === undefined) await refuseUnfit(databaseUrl);
  await endService(dataDir, mayStop, talk.say);
  // Another move may have begun or ended while this command waited for the service.
  const before = unfinishedMove(dataDir, databaseUrl);
  const to = destinationOf(databaseUrl);
  const move: Move = { to, id: before?.id ?? randomUUID(), at: nowSeconds(), isDone: false };
  const isThere = before !== undefined && (await isFilledBy(databaseUrl, move.id));
  talk.say(
    isThere
      ? `Everything in ${dataDir} is in ${to} since the move that was interrupted; finishing it …`
      : `Moving the database in ${dataDir} to ${to} …`,
  );
  const copied = isThere ? undefined : await copy(places, { move, before, say: talk.say });
  if (isThere) await bringUpToDate({ url: databaseUrl });
  markMoved(dataDir, { ...move, at: nowSeconds(), isDone: true });
  talk.say(
    `Start the service with DATABASE_URL and POSTRIDER_ENCRYPTION_KEY, whose value is in ${keyPath(dataDir)} (fingerprint ${fingerprintOf(encryptionKey)}); ${dataDir} stays as it was, for as long as you want it`,
  );
  talk.show({ from: dataDir, to, ...copied });
}

/**
 * The interrupted move, if there is one.
 * @throws {CommandError} when the earlier move has ended, or was to another database.
 */
function unfinishedMove(dataDir: string, databaseUrl: string): Move | undefined {
  const move = readMove(dataDir);
  // Version 1.0.0 recorded the server without the database's name.
  const isThis = move !== undefined && [destinationOf(databaseUrl), placeOf(databaseUrl)].includes(move.to);
  if (move !== undefined && (move.isDone || !isThis)) throw refusalOf(dataDir, move);
  return move;
}

/** The server and the database, without credentials. */
function destinationOf(databaseUrl: string): string {
  const { database } = new pg.Client({ connectionString: databaseUrl });
  return `${placeOf(databaseUrl)}/${database ?? ""}`;
}

/**
 * Checks, before the service is stopped, that the database of DATABASE_URL has a suitable version and encoding, is empty, and
 * that the user may create tables and schemas.
 * @throws {Error} a sentence, when one of these fails.
 */
async function refuseUnfit(databaseUrl: string): Promise<void> {
  const session = await openSession({ url: databaseUrl });
  try {
    await checkVersion(session);
    await refuseOtherEncodings(session);
    await refuseUnlessEmpty(session);
    await session.query("begin; create schema postrider_trial; create table trial_of_postrider (); rollback");
  } catch (error) {
    throw explainRefusal(error, databaseUrl);
  } finally {
    await session.end();
  }
}

interface Moving {
  move: Move;
  /** The interrupted move that this one continues. */
  before: Move | undefined;
  say: Talk["say"];
}

async function copy(places: Places, moving: Moving): Promise<Loaded> {
  const { dataDir, settings } = places;
  // Locks the data directory until it is closed.
  const database = await startAlone(dataDir, { command, say: moving.say, settings });
  try {
    const present = readMove(dataDir);
    // The record of another move must stay: it says where the items are.
    if (present !== undefined && (present.id !== moving.before?.id || present.isDone))
      throw refusalOf(dataDir, present);
    return await fill(places, moving, database.connection);
  } finally {
    await database.close();
  }
}

/** Copies all rows into the other database. An error before they are committed there leaves the old database as it was. */
async function fill(
  { dataDir, databaseUrl, encryptionKey, previousKeys }: Places,
  { move, before, say }: Moving,
  connection: DatabaseConnection,
): Promise<Loaded> {
  let isCommitting = false;
  const mark = { id: move.id, beforeCommit: () => void (isCommitting = true) };
  // The server rolls back the rows when the connection ends, unless the commit was sent.
  const giveUp = (): string => {
    const isUndone = !isCommitting && before === undefined;
    if (isUndone) unmarkMoved(dataDir);
    return isUndone
      ? "nothing was moved, and the service can be started as before"
      : "run postrider move again, which finishes it";
  };
  const takeBack = beforeInterrupt((signal) => say(`Stopped by ${signal}: ${giveUp()}`));
  try {
    markMoved(dataDir, move);
    const source = { connection, encryptionKey, version, nowMs: Date.now() };
    return await withSnapshot(source, async (contents, session) => {
      await refuseForeignKey(session, { current: encryptionKey, previous: previousKeys });
      return loadInto({ url: databaseUrl }, contents, mark);
    });
  } catch (error) {
    const left = giveUp();
    say(isCommitting ? `Everything may be in ${move.to} already: ${left}` : `Not finished: ${left}`);
    throw explainRefusal(error, databaseUrl);
  } finally {
    takeBack();
  }
}

interface Places {
  dataDir: string;
  databaseUrl: string;
  encryptionKey: Buffer;
  previousKeys: Config["previousEncryptionKeys"];
  /** Settings of the embedded database while it is read. */
  settings: Record<string, string>;
}

/** Uses the encryption key of the data directory, because the secrets that are moved are encrypted with it. */
function configOfMove(env: NodeJS.ProcessEnv): Places {
  const here = loadConfig({ ...env, DATABASE_URL: "" });
  refuseWithoutDatabase(here.dataDir);
  const encryptionKey = keyOf(here);
  const there = loadConfig({ ...env, POSTRIDER_ENCRYPTION_KEY: encryptionKey.toString("base64") });
  if (there.databaseUrl === undefined) {
    throw new CommandError("set DATABASE_URL to the PostgreSQL that the database is to be moved to", "usage");
  }
  return {
    dataDir: here.dataDir,
    databaseUrl: there.databaseUrl,
    encryptionKey,
    previousKeys: here.previousEncryptionKeys,
    settings: lockSettings(here),
  };
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
      // A running service holds the lock. `lockDirectory` waits two seconds for it.
      const unlock = await lockDirectory(dataDir, { command });
      unlock();
      return;
    } catch (cause) {
      if (!(cause instanceof DirectoryInUseError)) throw cause;
      const { holder, message } = cause;
      // A command must not be stopped: its work would be left half done.
      if (holder.command !== undefined) throw new CommandError(message, "conflict", { cause });
      if (!mayStop) {
        throw new CommandError(
          `a service runs on ${dataDir}: stop it, or add --stop-service to end it for the move`,
          "conflict",
          { cause },
        );
      }
      if (performance.now() > deadlineMs) throw cause;
      if (!isAsked) stopService(dataDir, holder, say);
      isAsked = true;
    }
  }
}

/** @throws {CommandError} when the process is not visible here, as in another container, or this user may not signal it. */
function stopService(dataDir: string, { pid = 0 }: Holder, say: (line: string) => void): void {
  try {
    if (pid <= 1 || pid === process.pid) throw new Error("its process is unknown");
    process.kill(pid, "SIGTERM");
  } catch (cause) {
    throw new CommandError(
      `the service on ${dataDir} cannot be stopped from here (${(cause as Error).message}): stop it where it runs, and run the command again`,
      "failed",
      { cause },
    );
  }
  say(`Ending the service (process ${pid}) …`);
}

function nowSeconds(): number {
  return Math.floor(Date.now() / 1000);
}
