import { existsSync } from "node:fs";
import { writeBackup } from "../../backup/backupFile.ts";
import { withSnapshot } from "../../backup/takeSnapshot.ts";
import type { Config } from "../../config/config.ts";
import { version } from "../../config/version.ts";
import { isDatabaseAway } from "../../postgres/pool.ts";
import { CommandError } from "../../runtime/commandError.ts";
import type { Talk } from "./command.ts";
import { existingKey, keyPath, refuseForeignKey } from "../database/encryptionKey.ts";
import { openAsItIs } from "./openAsItIs.ts";

/** Writes the whole database, as it is at one moment, into a new file; a running service is not disturbed. */
export async function backUp(config: Config, path: string, { say, show }: Talk): Promise<void> {
  if (path === "-")
    throw new CommandError(
      "a backup goes to a file, which appears complete or not at all, and not to standard output: name a file",
      "usage",
    );
  if (existsSync(path)) {
    throw new CommandError(`${path} already exists: a backup needs a new file`, "conflict");
  }
  const database = await openAsItIs(config, { command: "postrider backup", say });
  try {
    const encryptionKey = config.encryptionKey ?? existingKey(config.dataDir);
    if (encryptionKey === undefined) {
      throw new CommandError(
        `${keyPath(config.dataDir)} is missing, without which the backup's secrets cannot be read: restore the file, or set POSTRIDER_ENCRYPTION_KEY`,
        "notFound",
      );
    }
    const source = { connection: database.connection, encryptionKey, version, nowMs: Date.now() };
    await withSnapshot(source, async (contents, session) => {
      const keys = { current: encryptionKey, previous: config.previousEncryptionKeys };
      await refuseForeignKey(session, keys);
      const { bytes, rows } = await writeBackup(path, contents).catch((error: unknown) => {
        throw explainFailure(error, path);
      });
      const { key_fingerprint, created_at } = contents.manifest;
      say(
        `The encryption key is not in the backup: keep ${config.encryptionKey === undefined ? keyPath(config.dataDir) : "POSTRIDER_ENCRYPTION_KEY"} apart from it (fingerprint ${key_fingerprint})`,
      );
      show({ file: path, created_at, bytes, rows, key_fingerprint });
    });
  } finally {
    await database.close();
  }
}

/** Explains why the backup cannot be read or written. Node's messages name the draft file, or no file at all. */
function explainFailure(error: unknown, path: string): unknown {
  const { code = "", message } = error as NodeJS.ErrnoException;
  const reasons: Record<string, string> = {
    ENOSPC: "the disk is full: make room, or name a file on another one",
    EDQUOT: "the disk quota is used up: make room, or name a file on another disk",
    ENOENT: "its folder does not exist",
    ENOTDIR: "its folder does not exist",
    EACCES: "this user may not write into its folder",
    EPERM: "this user may not write into its folder",
    EROFS: "its disk is read-only",
    ENAMETOOLONG: "its name is too long",
    EIO: message,
  };
  const reason = Object.hasOwn(reasons, code) ? reasons[code] : undefined;
  if (reason === undefined) {
    if (!isDatabaseAway(error)) return error;
    const lost = `the connection to the database was lost (${message}): nothing was written; run the command again`;
    return new CommandError(lost, "failed", { cause: error });
  }
  return new CommandError(`cannot write ${path}: ${reason}`, "failed", { cause: error });
}
