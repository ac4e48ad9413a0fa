import { randomBytes } from "node:crypto";
import { chmodSync, linkSync, readFileSync, unlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type pg from "pg";
import type { Config } from "../../config/config.ts";
import { isSealedWithOneOf, type SecretBoxKeys } from "../../items/secretBox.ts";

const fileName = "encryption.key";
const keyBytes = 32;

/**
 * The key of a service with its own database: read from the data directory, which must exist, and created there the first time
 * (mode 0600). @throws {Error} when the file exists and is no key, because a new key could decrypt nothing.
 */
export function loadOrMakeKey(dataDir: string): Buffer {
  const present = existingKey(dataDir);
  if (present !== undefined) return present;
  const path = keyPath(dataDir);
  // Written to a draft and then linked into place, so that a crash cannot leave half a key.
  const draft = `${path}.${process.pid}.${randomBytes(4).toString("hex")}`;
  writeFileSync(draft, `${randomBytes(keyBytes).toString("base64")}\n`, { mode: 0o600, flush: true });
  chmodSync(draft, 0o600);
  try {
    linkSync(draft, path);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "EEXIST") throw error;
  } finally {
    unlinkSync(draft);
  }
  return readKey(path);
}

/** The key of a data directory, if it has one. @throws {Error} when the file exists and is no key. */
export function existingKey(dataDir: string): Buffer | undefined {
  try {
    return readKey(keyPath(dataDir));
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return undefined;
    throw error;
  }
}

/**
 * The key of a service with its own database: the configured one, or that of the data directory; a new one only if the database
 * has no secrets. @throws {Error} when it has some: a new key could not decrypt them, and backups would name it.
 */
export async function embeddedKey(config: Config, pool: pg.Pool): Promise<Buffer> {
  const present = config.encryptionKey ?? existingKey(config.dataDir);
  if (present !== undefined) return present;
  const { rows } = await pool.query("select from targets where secret is not null limit 1");
  if (rows.length === 0) return loadOrMakeKey(config.dataDir);
  throw new Error(
    `${keyPath(config.dataDir)} is missing, without which the database's secrets cannot be read: restore the file, or set POSTRIDER_ENCRYPTION_KEY`,
  );
}

/** Path of the key's file of a service with its own database. */
export function keyPath(dataDir: string): string {
  return join(dataDir, fileName);
}

/**
 * Checks that one of the keys decrypts the oldest signing secret, or the newest: with the key of another database every
 * delivery would fail, and a copy would name a key that cannot read it.
 * @throws {Error} a sentence for the operator, when neither secret was encrypted with one of the keys.
 */
export async function refuseForeignKey(
  pool: Pick<pg.ClientBase, "query">,
  keys: SecretBoxKeys,
): Promise<void> {
  const { rows } = await pool.query<{ secret: Buffer }>(
    `(select secret from targets where secret is not null order by id limit 1)
     union all
     (select secret from targets where secret is not null order by id desc limit 1)`,
  );
  if (rows.length === 0 || rows.some(({ secret }) => isSealedWithOneOf(keys, secret))) return;
  throw new Error(
    "the encryption key is not the one that this database's secrets were sealed with: set POSTRIDER_ENCRYPTION_KEY to that one (or restore encryption.key in the data directory), or name it in POSTRIDER_PREVIOUS_ENCRYPTION_KEYS",
  );
}

function readKey(path: string): Buffer {
  const key = Buffer.from(readFileSync(path, "utf8").trim(), "base64");
  if (key.length === keyBytes) return key;
  throw new Error(
    `${path} does not hold an encryption key of ${keyBytes} bytes: restore the file from a backup`,
  );
}
