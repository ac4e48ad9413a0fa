import { createInterface } from "node:readline";
import { startEmbedded } from "../../src/postgres/embedded/startEmbedded.ts";

// A process that runs only a service's embedded database: it reports events on its standard output, one JSON
// object per line, and stops at the line "stop" on its standard input or at a signal.
const tell = (event: Record<string, unknown>): void =>
  void process.stdout.write(`${JSON.stringify(event)}\n`);

try {
  const database = await startEmbedded({
    dataDir: process.argv[2] as string,
    transport: process.argv[3] === "tcp" ? "tcp" : "socket",
    log(level, message) {
      tell({ event: "log", level, message });
      if (message.startsWith("PostgreSQL ended unexpectedly")) tell({ event: "exit" });
      if (message === "PostgreSQL serves again") tell({ event: "restart", pid: database.pid() });
    },
  });
  const stop = async (): Promise<void> => {
    await database.stop();
    tell({ event: "stopped" });
    // The database must not keep the process alive.
    process.stdin.destroy();
  };
  process.once("SIGTERM", () => void stop());
  createInterface(process.stdin).once("line", () => void stop());
  tell({ event: "ready", pid: database.pid(), connection: database.connection });
} catch (error) {
  tell({ event: "refused", message: (error as Error).message });
  process.exitCode = 1;
}
