import { readFile } from "node:fs/promises";
import type { BenchService } from "./benchService.ts";
import { allProcesses, statOf, ticksPerSecond, treeOf } from "./processTable.ts";
import { host } from "./workload.ts";

/** Resources that a service has used since its start; subtract two readings. */
export interface Usage {
  /** Processor time of the service's process, all threads together. */
  nodeSeconds: number;
  /** Processor time of all processes of its PostgreSQL, including those that have ended. */
  postgresSeconds: number;
  walBytes: number;
  machine: MachineTime;
}

/** Time of all processors of the machine together, in ticks. */
export interface MachineTime {
  total: number;
  /** Idle time, without time spent waiting for a disk. */
  idle: number;
  /** Idle while a process waited for a disk. */
  diskWait: number;
  /** Used by other virtual machines (steal time). */
  stolen: number;
}

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

/**
 * Seconds of processor time of a service's Node processes, with the supervisor, and of its PostgreSQL processes. They are read
 * from /proc, so that reading costs the service nothing.
 */
export async function processorTimeOf({ pid }: BenchService): Promise<{ node: number; postgres: number }> {
  const time = { node: 0, postgres: 0 };
  for (const { name, own, ofEnded } of await treeOf([String(pid)]))
    time[name === "postgres" ? "postgres" : "node"] += (own + ofEnded) / ticksPerSecond;
  return time;
}

/** Reads the first line of proc_stat(5). */
async function machineTime(): Promise<MachineTime> {
  const [line] = (await readFile("/proc/stat", "utf8")).split("\n");
  const ticks = line!.split(/\s+/).slice(1, 9).map(Number);
  const total = ticks.reduce((sum, one) => sum + one, 0);
  return { total, idle: ticks[3]!, diskWait: ticks[4]!, stolen: ticks[7]! };
}

/** Processor time of all processes of the server that `backend` belongs to. */
async function secondsOfServer(backend: string): Promise<number> {
  const postmaster = (await statOf(backend))!.parent;
  let ticks = 0;
  for (const one of await allProcesses()) {
    if (one.pid === postmaster) ticks += one.own + one.ofEnded;
    else if (one.parent === postmaster) ticks += one.own;
  }
  return ticks / ticksPerSecond;
}
