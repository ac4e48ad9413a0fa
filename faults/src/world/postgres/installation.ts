import { randomBytes } from "node:crypto";
import { databaseAccount, type Account } from "../../../../server/src/postgres/embedded/account.ts";
import { type Binaries, locateBinaries } from "../../../../server/src/postgres/embedded/binaries.ts";

/** Paths of PostgreSQL's programs, used as an operator would use an installed PostgreSQL. */
export interface Installation {
  binaries: Binaries;
  /** Operating system user of the servers' processes; undefined for the current user. */
  account: Account | undefined;
}

export const superuser = "postrider";
export const databaseName = "postrider";
/** Name of the synchronous standby in the primary's settings. */
export const standbyName = "standby";
/** Password of databases that exist for one run and listen on the loopback address only; no log may contain it. */
export const password = randomBytes(18).toString("base64url");

/** Finds the PostgreSQL that the service embeds. */
export async function findInstallation(folder: string): Promise<Installation> {
  const account = await databaseAccount(`${folder}/none`);
  return { account, binaries: await locateBinaries(account) };
}

/** URL of the service's database at a port of the loopback address. */
export function urlAt(port: number): string {
  return `postgresql://${superuser}:${password}@127.0.0.1:${port}/${databaseName}`;
}

/** Settings of every server: small memory, and every commit on disk before it is answered. */
export const settings: Readonly<Record<string, string>> = {
  fsync: "on",
  synchronous_commit: "on",
  full_page_writes: "on",
  shared_buffers: "48MB",
  max_connections: "80",
  min_wal_size: "32MB",
  max_wal_size: "128MB",
  wal_keep_size: "128MB",
  autovacuum_naptime: "5s",
  listen_addresses: "127.0.0.1",
  unix_socket_directories: "",
  // A disconnected standby reconnects quickly, and a hanging one is detected.
  wal_retrieve_retry_interval: "100ms",
  wal_receiver_status_interval: "1s",
  wal_sender_timeout: "3s",
  wal_receiver_timeout: "3s",
  hot_standby: "on",
  jit: "off",
  timezone: "UTC",
  log_timezone: "UTC",
  log_line_prefix: "%m [%p] ",
  log_min_messages: "warning",
  log_min_error_statement: "panic",
};
