import { existsSync } from "node:fs";
import { join } from "node:path";
import pg from "pg";
import { databaseAccount } from "../../../../server/src/postgres/embedded/account.ts";
import type { Installation } from "../postgres/installation.ts";

/**
 * Finds the installation of a running PostgreSQL with Citus. Only its programs are used, for new servers; the
 * running server is not changed.
 * @param url of a superuser, at a server on this machine.
 * @throws {Error} that tells the user when the server is on another host, lacks Citus, or its programs cannot run.
 */
export async function findCitus(url: string): Promise<Installation> {
  const { hostname } = new URL(url);
  if (!["127.0.0.1", "localhost", "[::1]"].includes(hostname))
    throw new Error(
      `TEST_CITUS_URL names ${hostname}; its programs are run, so it has to be on this machine`,
    );
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  try {
    const { rows } = await client.query<{ bin: string; data: string; version: number; hasCitus: boolean }>(
      `select
         (select setting from pg_config where name = 'BINDIR') as bin,
         current_setting('data_directory') as data,
         current_setting('server_version_num')::integer / 10000 as version,
         exists (select from pg_available_extensions where name = 'citus') as "hasCitus"`,
    );
    const { bin, data, version, hasCitus } = rows[0]!;
    if (!hasCitus) throw new Error("the server at TEST_CITUS_URL has no Citus");
    const [postgres, initdb] = [join(bin, "postgres"), join(bin, "initdb")];
    if (!existsSync(postgres))
      throw new Error(`${postgres}, which TEST_CITUS_URL names, is not on this machine`);
    return {
      binaries: { postgres, initdb, majorVersion: String(version) },
      account: await databaseAccount(data),
    };
  } finally {
    await client.end();
  }
}
