import { execFile } from "node:child_process";
import { readdirSync, readFileSync, statSync, type Stats } from "node:fs";
import { readFile, rm } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { promisify } from "node:util";

const pollMs = 25;
/** The signals to send to a leftover process, each with its time in milliseconds. */
const escalation: [number, NodeJS.Signals][] = [
  [0, "SIGINT"],
  [3_000, "SIGQUIT"],
  [6_000, "SIGKILL"],
];
const giveUpMs = 12_000;

/**
 * Ends every PostgreSQL process that an earlier run left on this cluster, then removes its postmaster.pid. The caller holds
 * the data directory's lock, so no service uses these processes any more. The process id in postmaster.pid is no proof: it
 * may belong to another program by now, because of which PostgreSQL would refuse to start. So processes are recognized by
 * their program, user and directory.
 * @param name the cluster_name, which each of its processes shows in its title.
 * @throws when a process does not end within 12 s.
 */
export async function stopLeftovers(
  cluster: string,
  name: string,
  {
    log,
    whileWaiting,
  }: { log: (message: string) => void; whileWaiting?: (() => Promise<unknown>) | undefined },
): Promise<void> {
  // On Windows, PostgreSQL's own check of postmaster.pid has to suffice.
  if (process.platform === "win32") return;
  const begun = performance.now();
  const toSend = [...escalation];
  for (;;) {
    const left = await clusterProcesses(cluster, name);
    if (left.length === 0) break;
    const waited = performance.now() - begun;
    if (toSend.length === escalation.length) {
      log(`stopping the PostgreSQL that an earlier run left behind (process ${left[0]})`);
    }
    if (waited > giveUpMs) {
      throw new Error(
        `PostgreSQL processes of an earlier run did not stop: ${left.join(", ")}; stop them and start again`,
      );
    }
    const [after, signal] = toSend[0] ?? [Infinity, "SIGKILL"];
    if (waited >= after) {
      toSend.shift();
      await signalLeftovers(cluster, left, signal);
    }
    await whileWaiting?.();
    await delay(pollMs);
  }
  await rm(join(cluster, "postmaster.pid"), { force: true });
}

/** Sends the first two signals to the postmaster, which tells the other processes; without a postmaster, to each process. */
async function signalLeftovers(cluster: string, left: number[], signal: NodeJS.Signals): Promise<void> {
  const postmaster = await recordedPostmaster(cluster);
  const targets =
    postmaster !== undefined && left.includes(postmaster) && signal !== "SIGKILL" ? [postmaster] : left;
  const effective = targets === left && signal === "SIGINT" ? "SIGQUIT" : signal;
  for (const pid of targets) {
    try {
      process.kill(pid, effective);
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== "ESRCH") throw error;
    }
  }
}

/** The process id in postmaster.pid; it may belong to any program by now. */
async function recordedPostmaster(cluster: string): Promise<number | undefined> {
  const text = await readFile(join(cluster, "postmaster.pid"), "utf8").catch(() => "");
  const pid = Number.parseInt(text, 10);
  return Number.isNaN(pid) ? undefined : pid;
}

async function clusterProcesses(cluster: string, name: string): Promise<number[]> {
  if (process.platform === "linux") return linuxProcesses(cluster, name);
  const { stdout } = await promisify(execFile)("ps", ["-axww", "-o", "pid=,command="], {
    maxBuffer: 16 * 2 ** 20,
  });
  return stdout
    .split("\n")
    .filter((line) => line.includes("postgres") && line.includes(name))
    .map((line) => Number.parseInt(line, 10));
}

function linuxProcesses(cluster: string, name: string): number[] {
  const found: number[] = [];
  const directory = statSync(cluster);
  for (const entry of readdirSync("/proc")) {
    if (!/^\d+$/.test(entry)) continue;
    try {
      if (readFileSync(`/proc/${entry}/comm`, "utf8") !== "postgres\n") continue;
      if (statSync(`/proc/${entry}`).uid !== directory.uid) continue;
      if (worksInside(entry, directory) ?? titleSays(entry, name)) found.push(Number(entry));
    } catch {
      // The process ended during the check.
      continue;
    }
  }
  return found;
}

/**
 * Whether the process's working directory is this one, as for every PostgreSQL process of a cluster. Undefined when the
 * kernel does not allow the check, for example to root in a container without CAP_SYS_PTRACE. A zombie has no directory and
 * counts as ended.
 */
function worksInside(pid: string, directory: Stats): boolean | undefined {
  try {
    const there = statSync(`/proc/${pid}/cwd/.`);
    return there.dev === directory.dev && there.ino === directory.ino;
  } catch (error) {
    if (/EACCES|EPERM/.test((error as NodeJS.ErrnoException).code ?? "")) return undefined;
    throw error;
  }
}

function titleSays(pid: string, name: string): boolean {
  return readFileSync(`/proc/${pid}/cmdline`, "utf8").includes(name);
}
