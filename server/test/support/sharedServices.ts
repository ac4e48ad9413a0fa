import type pg from "pg";
import { cellSchemas } from "../../src/postgres/cells.ts";
import { createPool } from "../../src/postgres/pool.ts";
import { createTestDatabase, type TestDatabase } from "./database.ts";
import { type ServiceProcess, startService } from "./serviceProcess.ts";
import { cellCount } from "./plain.ts";
import { createTestNode, startTestNode, type TestNode } from "./testNode.ts";

/*
 * Services that test files share, one file after another, because starting one takes longer than the tests of most
 * files. They belong to the worker process of the files, start when a file first needs them, and end with the
 * worker.
 */

// Vitest ends its workers by this signal; without the handler, processes that they started would keep running.
process.once("SIGTERM", () => process.exit());

/** A part that one test file uses and passes on to the next. */
interface Shared {
  database: TestDatabase;
  /** Called at the end of each file that used it. @throws {Error} when it broke meanwhile. */
  leave: () => Promise<void>;
}

export interface SharedNode extends Shared {
  node: TestNode;
}

export interface SharedService extends Shared {
  service: ServiceProcess;
}

const parts = new Map<string, Promise<Shared>>();

/** Returns the part of this name, created by `make` with a database of its own if it does not exist yet. */
function share<T extends Shared>(name: string, make: (database: TestDatabase) => Promise<T>): Promise<T> {
  let part = parts.get(name);
  if (part === undefined) {
    part = createTestDatabase().then(make);
    part.catch(() => parts.delete(name));
    parts.set(name, part);
  }
  return part as Promise<T>;
}

/** A node with these settings, without dispatch and maintenance. */
export function sharedNode(settings: Record<string, string> = {}): Promise<SharedNode> {
  return share(`node ${JSON.stringify(settings)}`, async (database) => {
    const node = createTestNode(database, settings);
    return { database, node, leave: async () => node.refuseProblems() };
  });
}

/** A node that dispatches, maintains, listens and may deliver to loopback. */
export function sharedStartedNode(): Promise<SharedNode & { url: string }> {
  return share("started node", async (database) => {
    const node = await startTestNode(database);
    const leave = async (): Promise<void> => {
      await leaveNothingWaiting(node.pool);
      node.refuseProblems();
    };
    return { database, node, url: node.url, leave };
  });
}

/** A process of the service with the default settings. If it has ended, only the file that used it fails. */
export function sharedService(): Promise<SharedService> {
  return share("service", async (database) => {
    const service = await startService({
      storage: { databaseUrl: database.url },
      // `writtenSoFar` waits for a line of this log.
      env: { LOG_LEVEL: "info", POSTRIDER_LOG_REQUESTS: "true" },
    });
    const pool = createPool({ connection: database.connection, size: 1, onError: () => undefined });
    const leave = async (): Promise<void> => {
      await leaveNothingWaiting(pool);
      if (service.isRunning()) return;
      parts.delete("service");
      throw new Error(`the shared service ended while this file used it:\n${service.output()}`);
    };
    return { database, service, leave };
  });
}

/** The schemas of the items' tables. */
const tableSchemas = cellCount === 1 ? ["public"] : cellSchemas(cellCount);

/**
 * Removes items and jobs that a file leaves waiting: attempts, polls and replays would continue during the next
 * file.
 */
async function leaveNothingWaiting(pool: pg.Pool): Promise<void> {
  for (const schema of tableSchemas) {
    await pool.query(`delete from ${schema}.deliveries`);
    await pool.query(`delete from ${schema}.handoff_polls`);
    await pool.query(`delete from ${schema}.replays where status = 'RUNNING'`);
  }
}
