import { createInterface } from "node:readline";
import { startEmbedded } from "../../src/postgres/embedded/startEmbedded.ts";

// A process that is nothing but a service's embedded database: it tells on its standard output, a JSON object
// per line, what happens, and stops when its standard input says "stop" or a signal asks for it.
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
    // Nothing of the database may keep the process alive.
    process.stdin.destroy();
  };
  process.once("SIGTERM", () => void stop());
  createInterface(process.stdin).once("line", () => void stop());
  tell({ event: "ready", pid: database.pid(), connection: database.connection });
} catch (error) {
  tell({ event: "refused", message: (error as Error).message });
  process.exitCode = 1;
}
