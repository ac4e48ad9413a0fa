import { fork } from "node:child_process";
import type { ProcessEnd } from "../../postgres/embedded/guardedProcess.ts";
import type { FromWorker, ToWorker } from "./messages.ts";

/** A process that loads the service, and serves when it is told to. */
export interface WorkerProcess {
  pid: number;
  tell(message: ToWorker): void;
  kill(signal: NodeJS.Signals): void;
  /** Code and signal are both null when the process could not be started. */
  ended: Promise<ProcessEnd>;
}

export interface WorkerOptions {
  /** Path of the module that the worker runs. */
  entry: string;
  /** The sockets that the worker inherits, as descriptors from {@link firstSocketFd} on. */
  fds: readonly number[];
  hear: (message: FromWorker) => void;
  /** Called with whole lines of the worker's standard output. */
  write: (lines: string) => void;
}

/** Descriptors 0 to 3 are standard input, output, error, and the message channel. */
export const firstSocketFd = 4;

/**
 * Starts a worker. Its standard output goes through the supervisor, because lines that several processes write into one pipe
 * can be torn. The worker exits when the supervisor ends and closes the channel.
 */
export function startWorkerProcess({ entry, fds, hear, write }: WorkerOptions): WorkerProcess {
  const child = fork(entry, [], { stdio: ["ignore", "pipe", "inherit", "ipc", ...fds] });
  const ended = new Promise<ProcessEnd>((resolve) => {
    child.once("exit", (code, signal) => resolve({ code, signal }));
    // The process was never started, for lack of processes or descriptors.
    child.on("error", () => child.pid === undefined && resolve({ code: null, signal: null }));
  });
  child.on("message", (message) => hear(message as FromWorker));
  if (child.stdout) forwardLines(child.stdout, write);
  return {
    pid: child.pid ?? 0,
    tell(message) {
      // A message to a worker that is about to end is lost; `ended` resolves then.
      if (child.connected) child.send(message, () => undefined);
    },
    kill: (signal) => void child.kill(signal),
    ended,
  };
}

/** Forwards output in pieces of whole lines. A line that a killed worker did not finish is dropped. */
function forwardLines(stream: NodeJS.ReadableStream, write: (lines: string) => void): void {
  let rest = "";
  stream.setEncoding("utf8");
  stream.on("error", () => undefined);
  stream.on("data", (text: string) => {
    const end = text.lastIndexOf("\n") + 1;
    if (end === 0) {
      rest += text;
      return;
    }
    write(rest + text.slice(0, end));
    rest = text.slice(end);
  });
}
