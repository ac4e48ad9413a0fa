/** The command as a process: its environment, its streams, its signals and its exit code. */
import { constants } from "node:os";
import { exitCodes } from "./exitCodes.ts";
import { main } from "./main.ts";

const stopping = new AbortController();
let isListening = false;
/** Exit codes above this name the signal that ended a process, as shells have it. */
const signalBase = 128;

/** A signal that aborts at the first SIGINT or SIGTERM; the second one ends the process at once, and what it still runs. */
function untilStopped(): AbortSignal {
  if (!isListening) {
    isListening = true;
    for (const signal of ["SIGINT", "SIGTERM"] as const) {
      // One listener for both: while a signal has none, it ends the process without the listeners of "exit".
      process.on(signal, () => {
        if (stopping.signal.aborted) process.exit(signalBase + constants.signals[signal]);
        stopping.abort(new Error("asked to end"));
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
