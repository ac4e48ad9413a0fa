import type pg from "pg";
import { openSession } from "../../../backup/takeSnapshot.ts";
import type { Config } from "../../../config/config.ts";
import type { Steps } from "../../../postgres/placement/distribute.ts";
import { refuseUnfitCoordinator, refuseWithoutRights } from "./refuseUnfitServers.ts";
import { type DatabaseConnection, tryLock } from "../../../postgres/pool.ts";
import { CommandError } from "../../../runtime/commandError.ts";
import type { Talk } from "../command.ts";
import { openAsItIs } from "../openAsItIs.ts";
import { tellProgress } from "../../database/startProgress.ts";

/** Advisory lock of the commands that move cells between servers. */
const placementLockKey = 7_281_934_021;

/** Sessions and progress reports of a command that changes the placement of cells. */
export interface OnCoordinator {
  /** Session without time limits; its search path has the control plane's tables. Its lock keeps other such commands out. */
  client: pg.ClientBase;
  connection: DatabaseConnection;
  steps: Steps;
  /** Opens another session like `client`, without its lock. The session ends with the command. */
  another: () => Promise<pg.ClientBase>;
}

/**
 * Runs a command on the coordinator of Citus. A killed command does not block the next one: the server cancels its statement, and
 * then ends its session and the session's lock.
 * @param functions the functions of Citus that the command calls, with their parameter types.
 * @throws {CommandError} when the database has no Citus or is not the coordinator's, or while another such command runs.
 */
export async function onCoordinator(
  config: Config,
  { say }: Talk,
  functions: readonly string[],
  work: (coordinator: OnCoordinator) => Promise<void>,
): Promise<void> {
  const progress = tellProgress(say);
  try {
    progress.doing("opening the database");
    const database = await openAsItIs(config, { command: "postrider db", say });
    const sessions: pg.Client[] = [];
    const another = async (): Promise<pg.Client> => {
      const session = await openSession(database.connection);
      sessions.push(session);
      await stopSoon(session);
      return session;
    };
    try {
      const client = await another();
      await refuseUnfitCoordinator(client);
      await refuseWithoutRights(client, [...functions, "recover_prepared_transactions()"]);
      await takeSessionLock(client, placementLockKey, "another command changes where cells are");
      // Ends the prepared transactions that servers left when they died, before anything is read.
      await client.query("select recover_prepared_transactions()");
      await work({ client, connection: database.connection, steps: progress, another });
    } finally {
      await Promise.allSettled(sessions.map((session) => session.end()));
      await database.close();
    }
  } catch (cause) {
    throw explained(cause);
  } finally {
    progress.end();
  }
}

const outOfMemory = "53200";

/** Explains "out of shared memory": the lock table is the only shared memory that a command can use up. */
function explained(cause: unknown): unknown {
  if ((cause as { code?: string }).code !== outOfMemory) return cause;
  return new CommandError(
    `${(cause as Error).message}: a server cannot lock as many tables at a time. Set a larger max_locks_per_transaction on each server, ` +
      "restart each PostgreSQL, and run the command again",
    "failed",
    { cause },
  );
}

/**
 * Takes an advisory lock for the session.
 * @param whoHasIt who may hold the lock instead, for the error's text.
 * @throws {CommandError} when another session holds it.
 */
export async function takeSessionLock(client: pg.ClientBase, key: number, whoHasIt: string): Promise<void> {
  if (await tryLock(client, key, "session")) return;
  throw new CommandError(`${whoHasIt}: try again later`, "conflict");
}

/** Lets the server cancel the session's statement when this process dies, on platforms where it can detect that. */
export async function stopSoon(client: pg.ClientBase): Promise<void> {
  await client.query("set client_connection_check_interval = '500ms'").catch(() => undefined);
}
