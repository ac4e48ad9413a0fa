import { platformPackage } from "../../src/postgres/embedded/binaries.ts";

/** The major versions of PostgreSQL that the service promises to run on. */
export const supportedVersions = [15, 16, 17, 18];
/** The one that it brings. The others are dependencies of the tests alone. */
export const installedVersion = 18;

/** The programs that `startEmbedded` runs for a major version. */
export function programsOf(version: number): { programs?: string } {
  return version === installedVersion ? {} : { programs: platformPackage(`postgres-${version}`) };
}
