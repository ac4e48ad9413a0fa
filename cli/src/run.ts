/** Runs the command in this process: connects it to the environment, streams, signals and exit code. */
import { readFileSync } from "node:fs";
import { constants } from "node:os";
import { basename } from "node:path";
import { type ExitCode, exitCodes } from "./exitCodes.ts";
import { main } from "./main.ts";

const stopping = new AbortController();
let isListening = false;
/** The exit code once the output could not be written. */
let unwritten: ExitCode | undefined;
/** Added to a signal's number, this is the exit code of a process that the signal ended, as in shells. */
const signalBase = 128;

/** Returns a signal that aborts at the first SIGINT, SIGTERM or SIGHUP. The second one ends the process and its programs at once. */
function untilStopped(): AbortSignal {
  if (!isListening) {
    isListening = true;
    const hangup = isHangupIgnored ? [] : (["SIGHUP"] as const);
    for (const signal of ["SIGINT", "SIGTERM", ...hangup] as const) {
      // Each signal gets a listener: a signal without one would end the process without calling the listeners of "exit".
      process.on(signal, () => {
        if (stopping.signal.aborted) process.exit(signalBase + constants.signals[signal]);
        stopping.abort(new Error("asked to end"));
      });
    }
  }
  return stopping.signal;
}

const isHangupIgnored = wasHangupIgnored();
if (isHangupIgnored) process.on("SIGHUP", () => undefined);

process.stdout.on("error", ({ code, message }: NodeJS.ErrnoException) => {
  // The reader of the pipe, such as `head`, may have closed it, which is no failure.
  const isEnough = code === "EPIPE";
  if (!isEnough) process.stderr.write(`postrider: cannot write the output: ${message}\n`);
  unwritten = isEnough ? exitCodes.done : exitCodes.failed;
  // A command that runs until it is stopped gives back its work first.
  if (isListening) stopping.abort(new Error("the output cannot be written"));
  // oxlint-disable-next-line unicorn/no-process-exit -- nothing is left to write to
  else process.exit(unwritten);
});

// If standard error is closed, messages are lost, and only the exit code tells the result.
process.stderr.on("error", () => undefined);

const exitCode = await main(process.argv.slice(2), {
  env: process.env,
  stdin: process.stdin,
  stdout: process.stdout,
  stderr: process.stderr,
  untilStopped,
});
process.exitCode = unwritten ?? exitCode;

/**
 * Whether this process was started with SIGHUP ignored, as by `nohup`. Node resets ignored signals when it starts, so that two
 * traces are left: the variable `_`, in which bash and zsh name the program that they started, and, on Linux, the signals that
 * the parent ignores, because its children inherit them.
 */
function wasHangupIgnored(): boolean {
  return basename(process.env["_"] ?? "") === "nohup" || isIgnoredByParent();
}

function isIgnoredByParent(): boolean {
  try {
    const status = readFileSync(`/proc/${process.ppid}/status`, "utf8");
    const [, ignored = "0"] = /^SigIgn:\s*([0-9a-f]+)$/m.exec(status) ?? [];
    // The lowest bit is signal 1, SIGHUP.
    return (BigInt(`0x${ignored}`) & 1n) === 1n;
  } catch {
    return false;
  }
}
