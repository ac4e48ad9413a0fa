import { readdir, readFile } from "node:fs/promises";
import type { BenchService } from "./benchService.ts";
import { host } from "./workload.ts";

/** What a service has used so far; the difference of two readings is what came between them. */
export interface Usage {
  /** Processor time of the service's process, all threads together. */
  nodeSeconds: number;
  /** Processor time of every process of its PostgreSQL that lives or has ended. */
  postgresSeconds: number;
  walBytes: number;
  machine: MachineTime;
}

/** What the machine's processors did, all of them together, in ticks. */
export interface MachineTime {
  total: number;
  /** They had nothing to do. */
  idle: number;
  /** They had nothing to do but for a disk that somebody waited for. */
  diskWait: number;
  /** Another machine had them: this one is virtual. */
  stolen: number;
}

const ticksPerSecond = 100;

export async function usageOf(service: BenchService): Promise<Usage> {
  const [row] = await service.sql<{ pid: number; wal: string }>(
    "select pg_backend_pid() as pid, pg_current_wal_insert_lsn() - '0/0'::pg_lsn as wal",
  );
  const metrics = await (await fetch(`http://${host}:${service.port}/metrics`)).text();
  return {
    nodeSeconds: Number(/^process_cpu_seconds_total (\S+)$/m.exec(metrics)?.[1]),
    postgresSeconds: await secondsOfServer(String(row!.pid)),
    walBytes: Number(row!.wal),
    machine: await machineTime(),
  };
}

/** By the first line of proc_stat(5). */
async function machineTime(): Promise<MachineTime> {
  const [line] = (await readFile("/proc/stat", "utf8")).split("\n");
  const ticks = line!.split(/\s+/).slice(1, 9).map(Number);
  const total = ticks.reduce((sum, one) => sum + one, 0);
  return { total, idle: ticks[3]!, diskWait: ticks[4]!, stolen: ticks[7]! };
}

/** Of the server that has the backend. */
async function secondsOfServer(backend: string): Promise<number> {
  const postmaster = (await statOf(backend))!.parent;
  const processes = await Promise.all(
    (await readdir("/proc")).filter((name) => /^\d+$/.test(name)).map(statOf),
  );
  let ticks = 0;
  for (const one of processes) {
    if (one === undefined) continue;
    if (one.pid === postmaster) ticks += one.own + one.ofEnded;
    else if (one.parent === postmaster) ticks += one.own;
  }
  return ticks / ticksPerSecond;
}

/** A process as proc(5) has it in `stat`; undefined for one that has ended. */
async function statOf(pid: string) {
  const text = await readFile(`/proc/${pid}/stat`, "utf8").catch(() => undefined);
  if (text === undefined) return undefined;
  // After the name, which may hold anything.
  const fields = text.slice(text.lastIndexOf(")") + 2).split(" ");
  const sum = (first: number): number => Number(fields[first]) + Number(fields[first + 1]);
  return { pid, parent: fields[1]!, own: sum(11), ofEnded: sum(13) };
}
