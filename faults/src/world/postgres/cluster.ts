import { randomUUID } from "node:crypto";
import {
  chown,
  cp,
  lchown,
  mkdir,
  readdir,
  rm,
  writeFile,
  copyFile,
  symlink,
  readlink,
} from "node:fs/promises";
import { join } from "node:path";
import type { Account } from "../../../../server/src/postgres/embedded/account.ts";
import { runToEnd } from "../../../../server/src/postgres/embedded/account.ts";
import { migrate } from "../../../../server/src/postgres/migrate.ts";
import { createPool } from "../../../../server/src/postgres/pool.ts";
import { databaseName, type Installation, password, superuser, urlAt } from "./installation.ts";
import { PostgresServer } from "./server.ts";

export interface TemplateInput {
  installation: Installation;
  directory: string;
  logFile: string;
}

/**
 * Creates a cluster with the service's database and schema, and stops it.
 * @param cells number of cells of the data plane.
 */
export async function makeTemplate(input: TemplateInput, cells: number): Promise<void> {
  const server = await startNewCluster(input);
  const pool = createPool({ connection: { url: urlAt(server.port) }, size: 1, onError: () => undefined });
  try {
    await migrate(pool, { cells });
  } finally {
    await pool.end();
    await server.end("SIGINT");
  }
}

/** Creates a cluster with an empty database, and stops it. */
export async function makeEmptyTemplate(input: TemplateInput): Promise<void> {
  const server = await startNewCluster(input);
  await server.end("SIGINT");
}

async function startNewCluster({ installation, directory, logFile }: TemplateInput): Promise<PostgresServer> {
  await mkdir(directory, { recursive: true });
  await own(directory, installation.account);
  const passwordFile = `${directory}.password-${randomUUID()}`;
  await writeFile(passwordFile, password);
  await own(passwordFile, installation.account);
  const initdb = await runToEnd(
    installation.binaries.initdb,
    [
      `--pgdata=${directory}`,
      `--username=${superuser}`,
      "--encoding=UTF8",
      "--locale=C",
      "--wal-segsize=1",
      "--no-instructions",
      "--auth=scram-sha-256",
      `--pwfile=${passwordFile}`,
      "--no-sync",
    ],
    { account: installation.account },
  );
  await rm(passwordFile);
  if (initdb.code !== 0) throw new Error(`initdb failed: ${initdb.complaint}`);
  const server = new PostgresServer({
    installation,
    directory,
    logFile,
    settings: { fsync: "off" },
  });
  await server.start("postgres");
  await server.query(`create database ${databaseName}`, "postgres");
  return server;
}

/** Copies a stopped cluster. */
export async function copyStopped(from: string, to: string, account: Account | undefined): Promise<void> {
  await cp(from, to, { recursive: true });
  await ownAll(to, account);
}

/**
 * Copies a running cluster for a standby, through PostgreSQL's low-level backup API, because the package has no
 * `pg_basebackup`. The write-ahead log is not copied: the standby streams it from the primary.
 */
export async function copyRunning(
  from: PostgresServer,
  to: string,
  account: Account | undefined,
): Promise<void> {
  await rm(to, { recursive: true, force: true });
  await from.session(async (client) => {
    await client.query("select pg_backup_start('standby', fast => true)");
    await copyTree(from.directory, to);
    const { rows } = await client.query<{ labelfile: string }>(
      "select labelfile from pg_backup_stop(wait_for_archive => false)",
    );
    await writeFile(join(to, "backup_label"), rows[0]!.labelfile);
    await writeFile(join(to, "standby.signal"), "");
  });
  await ownAll(to, account);
}

const contentsLeftOut = new Set([
  "pg_wal",
  "pg_replslot",
  "pg_stat_tmp",
  "pg_notify",
  "pg_subtrans",
  "pg_dynshmem",
]);
const filesLeftOut = new Set(["postmaster.pid", "postmaster.opts", "backup_label", "standby.signal"]);

/** Files that vanish during the copy are skipped; replaying the write-ahead log removes them as well. */
async function copyTree(from: string, to: string): Promise<void> {
  await mkdir(to, { recursive: true, mode: 0o700 });
  for (const entry of await readdir(from, { withFileTypes: true })) {
    const [source, target] = [join(from, entry.name), join(to, entry.name)];
    if (filesLeftOut.has(entry.name)) continue;
    if (entry.isDirectory()) {
      if (contentsLeftOut.has(entry.name)) await mkdir(target, { recursive: true, mode: 0o700 });
      else await copyTree(source, target);
      continue;
    }
    const copied = entry.isSymbolicLink()
      ? symlink(await readlink(source), target)
      : copyFile(source, target);
    await copied.catch((error: NodeJS.ErrnoException) => {
      if (error.code !== "ENOENT") throw error;
    });
  }
}

async function ownAll(directory: string, account: Account | undefined): Promise<void> {
  if (account === undefined) return;
  await own(directory, account);
  for (const entry of await readdir(directory, { recursive: true, withFileTypes: true }))
    await lchown(join(entry.parentPath, entry.name), account.uid, account.gid);
}

async function own(path: string, account: Account | undefined): Promise<void> {
  if (account === undefined) return;
  await chown(path, account.uid, account.gid);
}
