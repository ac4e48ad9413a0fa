/** The command as a process: its environment, its streams, its signals and its exit code. */
import { exitCodes } from "./exitCodes.ts";
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

process.stdout.on("error", ({ code, message }: NodeJS.ErrnoException) => {
  // The reader of a pipe may have seen enough.
  const isEnough = code === "EPIPE";
  if (!isEnough) process.stderr.write(`postrider: cannot write the output: ${message}\n`);
  // oxlint-disable-next-line unicorn/no-process-exit -- nothing is left to write to
  process.exit(isEnough ? exitCodes.done : exitCodes.failed);
});

// Without a place for messages, the exit code says what became of the command.
process.stderr.on("error", () => undefined);

process.exitCode = await main(process.argv.slice(2), {
  env: process.env,
  stdin: process.stdin,
  stdout: process.stdout,
  stderr: process.stderr,
  untilStopped,
});
