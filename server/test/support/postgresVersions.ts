import { createPool, type DatabaseConnection } from "../../src/postgres/pool.ts";
import { citusUrl } from "./citus.ts";
import { platformPackage } from "../../src/postgres/embedded/binaries.ts";

/** The major versions of PostgreSQL that the service supports. */
export const supportedVersions = [15, 16, 17, 18];
/** The version that the service embeds. The others are dependencies of the tests only. */
export const installedVersion = 18;

/** The version with which this run tests everything; undefined with an external server. */
export const versionOfRun =
  (citusUrl ?? process.env["TEST_DATABASE_URL"] ?? "") === ""
    ? Number(process.env["TEST_POSTGRES"] ?? installedVersion)
    : undefined;

/** The programs that `startEmbedded` runs for a major version. */
export function programsOf(version: number): { programs?: string } {
  return version === installedVersion ? {} : { programs: platformPackage(`postgres-${version}`) };
}

/** Creates a further database on a server. @returns the major version of the server. */
export async function createDatabaseOn(connection: DatabaseConnection, name: string): Promise<number> {
  const pool = createPool({ connection, size: 1, onError: () => undefined });
  try {
    const { rows } = await pool.query<{ version: number }>(
      "select current_setting('server_version_num')::integer / 10000 as version",
    );
    await pool.query(`create database ${name}`);
    return rows[0]!.version;
  } finally {
    await pool.end();
  }
}
