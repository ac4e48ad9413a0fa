import { readdir, readFile } from "node:fs/promises";
import { cpus } from "node:os";
import type { BenchService } from "./benchService.ts";
import { host } from "./workload.ts";

/** What a service has used so far; the difference of two readings is what came between them. */
export interface Usage {
  /** Processor time of the service's process, all threads together. */
  nodeSeconds: number;
  /** Processor time of every process of its PostgreSQL that lives or has ended. */
  postgresSeconds: number;
  /** Time in which the machine's processors had nothing to do, all of them together. */
  idleSeconds: number;
  walBytes: number;
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
    idleSeconds: cpus().reduce((sum, { times }) => sum + times.idle, 0) / 1_000,
    walBytes: Number(row!.wal),
  };
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
