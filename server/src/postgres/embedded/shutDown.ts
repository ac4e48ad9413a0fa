import { existsSync } from "node:fs";
import { join } from "node:path";
import { within } from "../../runtime/within.ts";
import type { GuardedProcess } from "./guardedProcess.ts";

/** A fast shutdown writes a checkpoint, which a slow disk may need this long for. */
const fastMs = 30_000;
const immediateMs = 6_000;

/**
 * Shuts PostgreSQL down: fast, then immediately (nothing committed is lost; the next start recovers), then by
 * force, and looks whether it ended in order.
 */
export async function shutDown(
  server: GuardedProcess,
  cluster: string,
  log: (level: "warn", message: string) => void,
): Promise<void> {
  // Windows has no SIGINT to send: there it ends at once, and recovers from its log at the next start.
  server.kill("SIGINT");
  const isEnded = server.ended.then(() => true);
  if (!(await within(fastMs, isEnded, false))) {
    log("warn", `PostgreSQL did not shut down within ${fastMs / 1_000} s; stopping it at once`);
    server.kill("SIGQUIT");
    if (!(await within(immediateMs, isEnded, false))) server.kill("SIGKILL");
  }
  const end = await server.ended;
  if (end.code !== 0 || existsSync(join(cluster, "postmaster.pid"))) {
    log("warn", "PostgreSQL did not shut down in order; it will recover from its log at the next start");
  }
}
