import { randomBytes } from "node:crypto";
import { readFile, writeFile } from "node:fs/promises";
import { createServer, type AddressInfo } from "node:net";
import { join } from "node:path";

/** Access to the database on systems without Unix sockets: 127.0.0.1, a port that was free at the start, and a password. */
export interface TcpAccess {
  port: number;
  password: string;
  /** A file with mode 0600; created at the first start and kept, because the cluster has only a hash of the password. */
  passwordFile: string;
}

export async function prepareTcpAccess(dataDir: string): Promise<TcpAccess> {
  const passwordFile = join(dataDir, "database-password");
  const made = randomBytes(24).toString("base64url");
  await writeFile(passwordFile, made, { flag: "wx", mode: 0o600 }).catch((error: NodeJS.ErrnoException) => {
    if (error.code !== "EEXIST") throw error;
  });
  return { port: await freePort(), password: (await readFile(passwordFile, "utf8")).trim(), passwordFile };
}

/** Returns a port of the loopback address on which no process listens at the moment. */
export function freePort(): Promise<number> {
  return new Promise((resolve, reject) => {
    const server = createServer();
    server.once("error", reject);
    server.listen(0, "127.0.0.1", () => {
      const { port } = server.address() as AddressInfo;
      server.close(() => resolve(port));
    });
  });
}
