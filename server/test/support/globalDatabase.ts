import { randomBytes } from "node:crypto";
import { mkdtemp, rm } from "node:fs/promises";
import { join } from "node:path";
import pg from "pg";
import type { TestProject } from "vitest/node";
import { createPool, type DatabaseConnection } from "../../src/postgres/pool.ts";
import { startEmbedded } from "../../src/postgres/embedded/startEmbedded.ts";
import { citusUrl, dropOnNodes } from "./citus.ts";
import { clusterFolder } from "./clusterFolder.ts";
import { installedVersion, programsOf, versionOfRun } from "./postgresVersions.ts";

declare module "vitest" {
  interface ProvidedContext {
    postgres: ProvidedPostgres;
  }
}

export interface ProvidedPostgres {
  /** Connection of a superuser who may create databases. */
  connection: DatabaseConnection;
  /** Prefix of the name of every database of this run. */
  prefix: string;
}

/** Fast instead of durable: tests of durability start their own server. */
const fastSettings = {
  fsync: "off",
  synchronous_commit: "off",
  full_page_writes: "off",
  max_connections: "200",
  shared_buffers: "128MB",
  autovacuum_naptime: "1min",
  // Nothing reads the write-ahead log again, and it may be in memory.
  wal_level: "minimal",
  max_wal_senders: "0",
  min_wal_size: "64MB",
  max_wal_size: "512MB",
};

/** Servers of a run, shared by its projects; each project loads this module again. */
interface Started {
  starting: Promise<Running>;
  users: number;
}

interface Running {
  postgres: ProvidedPostgres;
  stop: () => Promise<void>;
}

const run = globalThis as { postgresOfTests?: Started };

/**
 * One PostgreSQL for the whole test run: TEST_DATABASE_URL, or an embedded one in a temporary directory, of the
 * major version in TEST_POSTGRES. Returns a function that ends it with its last project, and drops the run's
 * databases.
 */
export async function setup(project: TestProject): Promise<() => Promise<void>> {
  const started = (run.postgresOfTests ??= { starting: start(), users: 0 });
  started.users += 1;
  const { postgres, stop } = await started.starting;
  project.provide("postgres", postgres);
  return async () => {
    started.users -= 1;
    if (started.users > 0) return;
    delete run.postgresOfTests;
    await stop();
  };
}

async function start(): Promise<Running> {
  const prefix = `postrider_test_${randomBytes(4).toString("hex")}`;
  const url = citusUrl ?? process.env["TEST_DATABASE_URL"];
  if (url !== undefined && url !== "") {
    const connection = { url };
    return { postgres: { connection, prefix }, stop: () => dropDatabases(connection, prefix) };
  }
  const dataDir = await mkdtemp(join(clusterFolder(), "postrider-test-"));
  const database = await startEmbedded({
    dataDir,
    settings: fastSettings,
    ...programsOf(versionOfRun ?? installedVersion),
    log: (level, message) => {
      if (level !== "info" && !/^postgresql: (ERROR|FATAL|WARNING)/.test(message))
        process.stderr.write(`${message}\n`);
    },
  });
  return {
    postgres: { connection: database.connection, prefix },
    async stop() {
      await database.stop();
      await rm(dataDir, { recursive: true, force: true });
    },
  };
}

async function dropDatabases(connection: DatabaseConnection, prefix: string): Promise<void> {
  const pool = createPool({ connection, size: 1, onError: () => undefined });
  const { rows } = await pool.query<{ datname: string }>(
    "select datname from pg_database where starts_with(datname, $1)",
    [prefix],
  );
  for (const { datname } of rows) {
    if (citusUrl === undefined)
      await pool.query(`drop database ${pg.escapeIdentifier(datname)} with (force)`);
    else await dropOnNodes(pg.escapeIdentifier(datname));
  }
  await pool.end();
}
