import { readdir, readFile, readlink } from "node:fs/promises";
import { ticksPerSecond, treeOf } from "../processTable.ts";

/** Resources of processes with their descendants; subtract two readings. */
export interface WatchedUse {
  /** Processor time, ended children included. */
  seconds: number;
  /** Bytes written to a disk; undefined where /proc does not show it. */
  writtenBytes: number | undefined;
  /** Current proportional set size; undefined where /proc does not show it. */
  memoryBytes: number | undefined;
}

/**
 * Reads the resource use of processes. A name is a process id, or `:PORT` for the processes that listen on that port.
 * @throws when no process has the id or listens on the port.
 */
export async function useOf(names: readonly string[]): Promise<WatchedUse> {
  const pids = (await Promise.all(names.map(pidsOf))).flat();
  const tree = await treeOf(pids);
  const gone = pids.find((pid) => !tree.some((one) => one.pid === pid));
  if (gone !== undefined) throw new Error(`there is no process ${gone}`);
  const [written, memory] = await Promise.all([
    Promise.all(tree.map(({ pid }) => valueOf(`/proc/${pid}/io`, /^write_bytes: (\d+)$/m))),
    Promise.all(tree.map(({ pid }) => valueOf(`/proc/${pid}/smaps_rollup`, /^Pss: +(\d+) kB$/m))),
  ]);
  const memoryKiB = sum(memory);
  return {
    seconds: tree.reduce((seconds, { own, ofEnded }) => seconds + (own + ofEnded) / ticksPerSecond, 0),
    writtenBytes: sum(written),
    memoryBytes: memoryKiB === undefined ? undefined : memoryKiB * 1_024,
  };
}

/** The sum of the known values; undefined if none is known. */
function sum(values: (number | undefined)[]): number | undefined {
  const known = values.filter((value) => value !== undefined);
  return known.length === 0 ? undefined : known.reduce((total, value) => total + value, 0);
}

async function valueOf(file: string, pattern: RegExp): Promise<number | undefined> {
  const text = await readFile(file, "utf8").catch(() => "");
  const found = pattern.exec(text)?.[1];
  return found === undefined ? undefined : Number(found);
}

/** The ids of the processes that a name (a process id or `:PORT`) stands for. */
export async function pidsOf(name: string): Promise<string[]> {
  const port = /^:(\d{1,5})$/.exec(name)?.[1];
  if (port === undefined) {
    if (/^\d+$/.test(name)) return [name];
    throw new Error(`"${name}" is neither a process id nor a port as ":8000"`);
  }
  const sockets = await listenersOn(Number(port));
  const processes = (await readdir("/proc")).filter((entry) => /^\d+$/.test(entry));
  const holders = await Promise.all(
    processes.map(async (pid) => ((await holdsOneOf(pid, sockets)) ? [pid] : [])),
  );
  const found = holders.flat();
  if (found.length === 0) throw new Error(`no process listens on port ${port}`);
  return found;
}

const listening = "0A";

/** The sockets that listen on a port, as `/proc/PID/fd` names them; see proc_pid_net(5). */
async function listenersOn(port: number): Promise<Set<string>> {
  const hex = port.toString(16).toUpperCase().padStart(4, "0");
  const sockets = new Set<string>();
  for (const file of ["/proc/net/tcp", "/proc/net/tcp6"]) {
    const lines = (await readFile(file, "utf8").catch(() => "")).split("\n").slice(1);
    for (const line of lines) {
      const fields = line.trim().split(/\s+/);
      if (fields[1]?.endsWith(`:${hex}`) && fields[3] === listening)
        sockets.add(`socket:[${fields[9] ?? ""}]`);
    }
  }
  return sockets;
}

async function holdsOneOf(pid: string, sockets: Set<string>): Promise<boolean> {
  const folder = `/proc/${pid}/fd`;
  const files = await readdir(folder).catch(() => []);
  const targets = await Promise.all(files.map((file) => readlink(`${folder}/${file}`).catch(() => "")));
  return targets.some((target) => sockets.has(target));
}
