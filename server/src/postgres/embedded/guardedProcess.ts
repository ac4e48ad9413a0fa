import { spawn, type ChildProcess } from "node:child_process";
import { plainEnvironment, type Account } from "./account.ts";

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
  /** The system account to run as; undefined for the current user. */
  account: Account | undefined;
  /** An open directory, given to the process as descriptor 3. */
  directory: number | undefined;
  /** Called with each line the process writes to its standard output or error. */
  onLine: (line: string) => void;
}

const guardRestartDelayMs = 100;

/** Waits for the word `go`, so that the process does not run before its guard does. */
const launcherScript = `read -r word && [ "$word" = go ] && exec "$@" </dev/null`;

/**
 * A word on standard input means that the process has ended. If the input ends without a word, the service has died: the
 * guard then tries a fast shutdown, after 3 s an immediate one (safe: PostgreSQL recovers from its WAL), and after 9 s
 * SIGKILL.
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

/** A working directory that every account can enter. */
const rootDirectory = process.platform === "win32" ? undefined : "/";

const windowsGuardScript = `
process.stdin.once("data", () => process.exit());
process.stdin.once("end", () => { try { process.kill(Number(process.argv[1])); } catch {} });
`;

/**
 * Starts a process that cannot outlive this one, however this one ends. A guard (a few lines of `sh`, about 1 MB) holds the
 * other end of a pipe to this process; when the pipe closes, the guard stops the started process. The guard runs before the
 * started process begins, and is replaced if it is killed. Both are in sessions of their own, so that Ctrl-C in the terminal
 * reaches only the service, which then drains before it stops its database.
 * @throws when the operating system refuses to start a process, e.g. EPERM for the account.
 */
export async function startGuarded(command: GuardedCommand): Promise<GuardedProcess> {
  const child = spawnHeld(command);
  const ended = endOf(child);
  readLines(child, command.onLine);
  child.stdin?.on("error", () => undefined);
  const pid = await pidOf(child);
  const releaseGuard = keepGuard(pid, command.account);
  void ended.then(releaseGuard);
  child.stdin?.end("go\n");
  return { pid, ended, kill: (signal) => void child.kill(signal) };
}

/** Spawns the process, which does not begin before it reads its word (except on Windows, which has no such shell). */
function spawnHeld(command: GuardedCommand): ChildProcess {
  const { file, args, account, directory } = command;
  const env = plainEnvironment();
  if (process.platform === "win32") {
    return spawn(file, args, { stdio: ["pipe", "pipe", "pipe"], env, windowsHide: true });
  }
  return spawn("/bin/sh", ["-c", launcherScript, "postrider-launcher", file, ...args], {
    ...account,
    cwd: rootDirectory,
    detached: true,
    stdio: ["pipe", "pipe", "pipe", ...(directory === undefined ? [] : [directory])],
    env,
  });
}

/** Runs a guard and replaces it if it dies early; the returned function ends the guard. */
function keepGuard(pid: number, account: Account | undefined): () => void {
  let over = false;
  let guard = spawnGuard(pid, account);
  const watch = (): void => {
    const replace = (): void => {
      if (over) return;
      guard = spawnGuard(pid, account);
      watch();
    };
    guard.once("exit", replace);
    // The system is probably out of processes, so the next try comes later.
    guard.once("error", () => setTimeout(replace, guardRestartDelayMs).unref());
    guard.stdin?.on("error", () => undefined);
    guard.unref();
  };
  watch();
  return () => {
    over = true;
    guard.stdin?.end("done\n");
  };
}

function spawnGuard(pid: number, account: Account | undefined): ChildProcess {
  const [file, ...args] =
    process.platform === "win32"
      ? [process.execPath, "-e", windowsGuardScript, String(pid)]
      : ["/bin/sh", "-c", guardScript, "postrider-guard", String(pid)];
  return spawn(file, args, {
    ...account,
    cwd: rootDirectory,
    detached: process.platform !== "win32",
    stdio: ["pipe", "ignore", "ignore"],
    env: plainEnvironment(),
    windowsHide: true,
  });
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
      // A child of the process may keep the output open after the process has ended, so do not wait for "close" alone.
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
