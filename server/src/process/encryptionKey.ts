import { randomBytes } from "node:crypto";
import { chmodSync, linkSync, readFileSync, unlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";

const fileName = "encryption.key";
const keyBytes = 32;

/**
 * The key of a service with its own database: read from the data directory, which exists, made there the first time (mode
 * 0600). @throws {Error} when the file is there and is no key, because a new one could open nothing.
 */
export function loadOrMakeKey(dataDir: string): Buffer {
  const path = keyPath(dataDir);
  try {
    return readKey(path);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "ENOENT") throw error;
  }
  // Written whole and then linked into place, so that a crash leaves no half of a key.
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

/** The key of a data directory, where it has one. @throws {Error} when the file is there and is no key. */
export function existingKey(dataDir: string): Buffer | undefined {
  try {
    return readKey(keyPath(dataDir));
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return undefined;
    throw error;
  }
}

/** Where a service with its own database looks for its key. */
export function keyPath(dataDir: string): string {
  return join(dataDir, fileName);
}

function readKey(path: string): Buffer {
  const key = Buffer.from(readFileSync(path, "utf8").trim(), "base64");
  if (key.length === keyBytes) return key;
  throw new Error(
    `${path} does not hold an encryption key of ${keyBytes} bytes: restore the file from a backup`,
  );
}
