import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { clusterPath, databaseName, databaseUser } from "./cluster.ts";
import type { ServerConnection } from "../pool.ts";

/**
 * The connection to the embedded database of a service that runs on this data directory, for commands that run beside the
 * service; undefined when none is recorded. If the record is outdated, connecting fails.
 * @throws when this user may not read the database's files.
 */
export async function runningConnection(dataDir: string): Promise<ServerConnection | undefined> {
  const record = await readOptional(join(clusterPath(dataDir), "postmaster.pid"));
  // Lines: process id, data directory, start time, port, socket directory, listen address.
  const [, , , port, socketDirectory] = record?.split("\n") ?? [];
  if (port === undefined || socketDirectory === undefined) return undefined;
  const identity = { port: Number(port), user: databaseUser, database: databaseName };
  if (socketDirectory !== "") return { host: socketDirectory, ...identity };
  const password = await readOptional(join(dataDir, "database-password"));
  return password === undefined ? undefined : { host: "127.0.0.1", ...identity, password: password.trim() };
}

async function readOptional(path: string): Promise<string | undefined> {
  try {
    return await readFile(path, "utf8");
  } catch (cause) {
    if ((cause as NodeJS.ErrnoException).code === "ENOENT") return undefined;
    throw new Error(
      `the database belongs to another user (${(cause as Error).message}): run this as that user or root`,
      { cause },
    );
  }
}
