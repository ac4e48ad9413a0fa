import { spawn, type ChildProcess } from "node:child_process";
import { delimiter } from "node:path";
import type { Account } from "./account.ts";

/** How a process ended, as Node reports it. */
export interface ProcessEnd {
  code: number | null;
  signal: NodeJS.Signals | null;
}

export interface GuardedProcess {
  pid: number;
  /** Resolves once the process has ended and its output has been read; never rejects. */
  ended: Promise<ProcessEnd>;
  kill: (signal: NodeJS.Signals) => void;
}

export interface GuardedCommand {
  file: string;
  args: string[];
  /** The system account to run as; undefined runs as ourselves. */
  account: Account | undefined;
  /** An open directory, given to the process as descriptor 3. */
  directory: number | undefined;
  /** Called with each line the process writes to its standard output or error. */
  onLine: (line: string) => void;
}

const guardRestartsMax = 100;

/** Waits for the word of release, so that no process runs before its guard does. */
const launcherScript = `read -r word && [ "$word" = go ] && exec "$@" </dev/null`;

/**
 * A word on standard input says that the process has ended. The end of the input without one says that the
 * service has died: a fast shutdown, after 3 s an immediate one (safe: PostgreSQL recovers from its log),
 * after 9 s the end by force.
 */
const guardScript = `
trap '' HUP INT QUIT TERM
read -r word && exit 0
stop() {
  kill "-$1" "$pid" 2>/dev/null || exit 0
  left=$2
  while [ "$left" -gt 0 ]; do
    sleep 1
    kill -0 "$pid" 2>/dev/null || exit 0
    left=$((left - 1))
  done
}
pid=$1
stop INT 3
stop QUIT 6
stop KILL 0
`;

const windowsGuardScript = `
process.stdin.once("data", () => process.exit());
process.stdin.once("end", () => { try { process.kill(Number(process.argv[1])); } catch {} });
`;

/**
 * Starts a process that cannot outlive this one, whatever ends this one. A guard (a few lines of \`sh\`, about
 * 1 MB) holds the other end of a pipe to us; when the pipe closes it stops the process. The guard is in place
 * before the process begins, and is replaced when something kills it. Both are sessions of their own, so a
 * Ctrl-C in the terminal reaches only the service, which then drains before it stops its database.
 * @throws when the operating system refuses to start a process, e.g. EPERM for the account.
 */
export async function startGuarded(command: GuardedCommand): Promise<GuardedProcess> {
  const windows = process.platform === "win32";
  const child = windows
    ? spawn(command.file, command.args, {
        stdio: ["pipe", "pipe", "pipe"],
        env: plainEnvironment(),
        windowsHide: true,
      })
    : spawn("/bin/sh", ["-c", launcherScript, "postrider-launcher", command.file, ...command.args], {
        ...command.account,
        detached: true,
        stdio: ["pipe", "pipe", "pipe", ...(command.directory === undefined ? [] : [command.directory])],
        env: plainEnvironment(),
      });
  const ended = endOf(child);
  readLines(child, command.onLine);
  child.stdin?.on("error", () => undefined);
  const pid = await pidOf(child);
  const releaseGuard = keepGuard(pid, command.account);
  void ended.then(releaseGuard);
  child.stdin?.end(windows ? "" : "go\n");
  return { pid, ended, kill: (signal) => void child.kill(signal) };
}

/** Runs a guard and replaces it when it dies early; the returned function tells it that its work is over. */
function keepGuard(pid: number, account: Account | undefined): () => void {
  let over = false;
  let guard: ChildProcess;
  const start = (restartsLeft: number): void => {
    guard =
      process.platform === "win32"
        ? spawn(process.execPath, ["-e", windowsGuardScript, String(pid)], {
            stdio: ["pipe", "ignore", "ignore"],
            windowsHide: true,
          })
        : spawn("/bin/sh", ["-c", guardScript, "postrider-guard", String(pid)], {
            ...account,
            detached: true,
            stdio: ["pipe", "ignore", "ignore"],
            env: plainEnvironment(),
          });
    guard.on("error", () => undefined);
    guard.stdin?.on("error", () => undefined);
    guard.once("exit", () => {
      if (!over && restartsLeft > 0) start(restartsLeft - 1);
    });
    guard.unref();
  };
  start(guardRestartsMax);
  return () => {
    over = true;
    guard.stdin?.end("done\n");
  };
}

/** Only what a program needs to be found and loaded: the service's secrets stay with the service. */
export function plainEnvironment(): NodeJS.ProcessEnv {
  const { env } = process;
  return {
    PATH: env["PATH"] ?? ["/usr/local/bin", "/usr/bin", "/bin"].join(delimiter),
    LC_ALL: "C",
    ...(env["LD_LIBRARY_PATH"] === undefined ? {} : { LD_LIBRARY_PATH: env["LD_LIBRARY_PATH"] }),
    ...(env["SystemRoot"] === undefined ? {} : { SystemRoot: env["SystemRoot"] }),
  };
}

function pidOf(child: ChildProcess): Promise<number> {
  return new Promise((resolve, reject) => {
    child.once("error", reject);
    child.once("spawn", () => resolve(child.pid as number));
  });
}

function endOf(child: ChildProcess): Promise<ProcessEnd> {
  return new Promise((resolve) => {
    child.once("exit", (code, signal) => {
      // Output may be held open by a straggler for longer than the process lives: do not wait for "close" alone.
      const straggling = setTimeout(() => resolve({ code, signal }), 500);
      child.once("close", () => {
        clearTimeout(straggling);
        resolve({ code, signal });
      });
    });
  });
}

function readLines(child: ChildProcess, onLine: (line: string) => void): void {
  for (const stream of [child.stdout, child.stderr]) {
    if (stream === null) continue;
    let rest = "";
    stream.setEncoding("utf8");
    stream.on("error", () => undefined);
    stream.on("data", (chunk: string) => {
      const lines = (rest + chunk).split(/\r?\n/);
      rest = (lines.pop() as string).slice(-8_192);
      for (const line of lines) if (line !== "") onLine(line);
    });
    stream.on("end", () => {
      if (rest !== "") onLine(rest);
    });
  }
}
