import type pg from "pg";
import type { Log } from "../telemetry/log.ts";
import { SchemaError } from "./migrations.ts";

/* Server settings that sessions cannot override, unlike `synchronous_commit`. */

/** For the operator of a server that reports commits before they are on its disk. */
export const fsyncOffText =
  "the database's server has fsync off: a crash of its machine can lose items that were answered with 202, and the whole database; set fsync = on, unless the storage itself makes writes durable";

const tornPagesText =
  "the database's server has full_page_writes off: a crash of its machine can leave pages half written; set full_page_writes = on, unless the file system writes pages whole, as ZFS does";

interface ServerSettings {
  encoding: string;
  has_fsync: boolean;
  has_full_pages: boolean;
}

/**
 * Warns when the server's settings do not protect data in a crash.
 * @throws {SchemaError} when the encoding of the database is not UTF8, which version 1.0.0 accepted. Commands accept such a
 * database, so that it can be backed up.
 */
export async function checkServerPromises(pool: pg.Pool, log: Log): Promise<void> {
  const { rows } = await pool.query<ServerSettings>(
    `select current_setting('server_encoding') as encoding,
       current_setting('fsync')::boolean as has_fsync,
       current_setting('full_page_writes')::boolean as has_full_pages`,
  );
  const { encoding, has_fsync, has_full_pages } = rows[0]!;
  if (encoding !== "UTF8") {
    throw new SchemaError(
      `the database has the encoding ${encoding}, and Postrider needs UTF8: make another with create database NAME encoding 'UTF8' template template0, and bring everything into it with postrider backup and postrider restore`,
    );
  }
  if (!has_fsync) log.warn({}, fsyncOffText);
  if (!has_full_pages) log.warn({}, tornPagesText);
}
