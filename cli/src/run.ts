/** The command as a process: its environment, its streams, its signals and its exit code. */
import { main } from "./main.ts";

const stopping = new AbortController();
let isListening = false;

/** A signal that aborts at the first SIGINT or SIGTERM; the second one ends the process at once. */
function untilStopped(): AbortSignal {
  if (!isListening) {
    isListening = true;
    for (const signal of ["SIGINT", "SIGTERM"] as const) {
      process.once(signal, () => {
        stopping.abort(new Error("asked to end"));
        process.removeAllListeners(signal);
      });
    }
  }
  return stopping.signal;
}

// The reader of a pipe may have seen enough.
process.stdout.on("error", (error: NodeJS.ErrnoException) => {
  if (error.code !== "EPIPE") throw error;
  // oxlint-disable-next-line unicorn/no-process-exit -- nobody is left to write for
  process.exit(0);
});

process.exitCode = await main(process.argv.slice(2), {
  env: process.env,
  stdin: process.stdin,
  stdout: process.stdout,
  stderr: process.stderr,
  untilStopped,
});
