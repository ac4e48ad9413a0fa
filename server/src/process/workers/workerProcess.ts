import { fork } from "node:child_process";
import type { FromWorker, ToWorker } from "./messages.ts";

/** How a worker's process ended; neither by code nor by signal when it could not be started. */
export interface WorkerEnd {
  code: number | null;
  signal: NodeJS.Signals | null;
}

/** A process that loads the service, and serves when it is told to. */
export interface WorkerProcess {
  pid: number;
  tell(message: ToWorker): void;
  kill(signal: NodeJS.Signals): void;
  ended: Promise<WorkerEnd>;
}

export interface WorkerOptions {
  /** The module that it runs. */
  entry: string;
  /** The sockets that it inherits, from descriptor {@link firstSocketFd} on. */
  fds: readonly number[];
  hear: (message: FromWorker) => void;
  /** Takes whole lines of its standard output. */
  write: (lines: string) => void;
}

/** The descriptors before are standard input, output, error, and the channel of messages. */
export const firstSocketFd = 4;

/**
 * Starts a worker. Its standard output comes through the supervisor, because lines that several processes write into one pipe
 * can be torn. It ends by itself when the supervisor does: its channel closes then.
 */
export function startWorkerProcess({ entry, fds, hear, write }: WorkerOptions): WorkerProcess {
  const child = fork(entry, [], { stdio: ["ignore", "pipe", "inherit", "ipc", ...fds] });
  const ended = new Promise<WorkerEnd>((resolve) => {
    child.once("exit", (code, signal) => resolve({ code, signal }));
    // It was never started, for lack of processes or descriptors.
    child.on("error", () => child.pid === undefined && resolve({ code: null, signal: null }));
  });
  child.on("message", (message) => hear(message as FromWorker));
  if (child.stdout) forwardLines(child.stdout, write);
  return {
    pid: child.pid ?? 0,
    tell(message) {
      // A message to a worker that is about to end is lost; `ended` tells.
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
