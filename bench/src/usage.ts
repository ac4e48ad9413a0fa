import { readdir, readFile } from "node:fs/promises";
import type { BenchService } from "./benchService.ts";
import { host } from "./workload.ts";

/** Resources that a service has used since its start; subtract two readings. */
export interface Usage {
  /** Processor time of the service's process, all threads together. */
  nodeSeconds: number;
  /** Processor time of every process of its PostgreSQL, ended ones included. */
  postgresSeconds: number;
  walBytes: number;
  machine: MachineTime;
}

/** The time of all the machine's processors together, in ticks. */
export interface MachineTime {
  total: number;
  /** Idle time, without time spent waiting for a disk. */
  idle: number;
  /** Idle while a process waited for a disk. */
  diskWait: number;
  /** Used by other virtual machines (steal time). */
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

/** The first line of proc_stat(5). */
async function machineTime(): Promise<MachineTime> {
  const [line] = (await readFile("/proc/stat", "utf8")).split("\n");
  const ticks = line!.split(/\s+/).slice(1, 9).map(Number);
  const total = ticks.reduce((sum, one) => sum + one, 0);
  return { total, idle: ticks[3]!, diskWait: ticks[4]!, stolen: ticks[7]! };
}

/** Processor time of all processes of the server that `backend` belongs to. */
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

/** A process by its `stat` in proc(5); undefined if it has ended. */
async function statOf(pid: string) {
  const text = await readFile(`/proc/${pid}/stat`, "utf8").catch(() => undefined);
  if (text === undefined) return undefined;
  // The fields after the name, which may contain spaces and brackets.
  const fields = text.slice(text.lastIndexOf(")") + 2).split(" ");
  const sum = (first: number): number => Number(fields[first]) + Number(fields[first + 1]);
  return { pid, parent: fields[1]!, own: sum(11), ofEnded: sum(13) };
}
