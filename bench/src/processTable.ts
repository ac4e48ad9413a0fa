import { readdir, readFile } from "node:fs/promises";

/** A process by its entry in proc(5). */
export interface ProcessStat {
  pid: string;
  name: string;
  parent: string;
  /** Processor time of the process in ticks. */
  own: number;
  /** Processor time in ticks of its children that ended and were waited for. */
  ofEnded: number;
}

export const ticksPerSecond = 100;

/** All processes of this machine. */
export async function allProcesses(): Promise<ProcessStat[]> {
  const pids = (await readdir("/proc")).filter((name) => /^\d+$/.test(name));
  return (await Promise.all(pids.map(statOf))).filter((one) => one !== undefined);
}

/** A process by its `stat` in proc(5); undefined if it has ended. */
export async function statOf(pid: string): Promise<ProcessStat | undefined> {
  const text = await readFile(`/proc/${pid}/stat`, "utf8").catch(() => undefined);
  if (text === undefined) return undefined;
  // The fields after the name, which may contain spaces and brackets.
  const end = text.lastIndexOf(")");
  const name = text.slice(text.indexOf("(") + 1, end);
  const fields = text.slice(end + 2).split(" ");
  const sum = (first: number): number => Number(fields[first]) + Number(fields[first + 1]);
  return { pid, name, parent: fields[1]!, own: sum(11), ofEnded: sum(13) };
}

/** The processes with these ids and all their descendants, each once. */
export async function treeOf(pids: readonly string[]): Promise<ProcessStat[]> {
  const processes = await allProcesses();
  const found = new Map<string, ProcessStat>();
  let parents = processes.filter((one) => pids.includes(one.pid));
  while (parents.length > 0) {
    for (const one of parents) found.set(one.pid, one);
    const ids = new Set(parents.map((parent) => parent.pid));
    parents = processes.filter(({ pid, parent }) => ids.has(parent) && !found.has(pid));
  }
  return [...found.values()];
}
