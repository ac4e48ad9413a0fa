import { chmod, chown, lstat, mkdir, readdir, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type Account, canWrite } from "./account.ts";

/**
 * Maximum length of the directory's path: the system's limit for a socket's path is 104 to 108 bytes, of which the file's
 * name takes 20.
 */
const directoryBytesMax = 80;
const namesToTry = 8;

/**
 * Prepares a private directory (0700, owned by the account) for the database's Unix socket, and removes files that an earlier
 * run left there. It is outside of the data directory, whose path may be too long for a socket and whose file system may not
 * support sockets. Call it only while no PostgreSQL of this cluster runs.
 * @param name a name that only this data directory uses.
 * @param used the directory that clients already know and that must be kept.
 */
export async function prepareSocketDirectory(
  name: string,
  account: Account | undefined,
  used?: string,
): Promise<string> {
  if (used !== undefined) {
    if (await takeDirectory(used, account)) return used;
    throw new Error(`someone else took the directory of the database's socket, ${used}`);
  }
  const reasons: string[] = [];
  for (const parent of new Set([tmpdir(), "/tmp", "/var/tmp", "/run"])) {
    if (Buffer.byteLength(join(parent, name)) + 2 > directoryBytesMax) continue;
    for (let tries = 0; tries < namesToTry; tries++) {
      const directory = join(parent, tries === 0 ? name : `${name}-${tries}`);
      try {
        if (!(await takeDirectory(directory, account))) continue;
        if (await canWrite(account, directory)) return directory;
        reasons.push(`${parent}: the user that runs PostgreSQL cannot enter it`);
      } catch (error) {
        reasons.push((error as Error).message);
      }
      break;
    }
  }
  throw new Error(
    `no directory for the database's socket: set TMPDIR to a short path that every user can enter (${reasons.join("; ")})`,
  );
}

/** Returns false when another user owns a directory of that name, which can happen in a shared directory. */
async function takeDirectory(directory: string, account: Account | undefined): Promise<boolean> {
  const mine = process.getuid?.() ?? 0;
  try {
    await mkdir(directory, { mode: 0o700 });
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "EEXIST") throw error;
    const found = await lstat(directory);
    if (!found.isDirectory() || (found.uid !== mine && found.uid !== account?.uid)) return false;
  }
  for (const file of await readdir(directory)) await rm(join(directory, file), { recursive: true });
  await chmod(directory, 0o700);
  if (account !== undefined) await chown(directory, account.uid, account.gid);
  return true;
}
