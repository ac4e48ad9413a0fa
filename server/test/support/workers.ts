import { spawnSync } from "node:child_process";
import { isRunning } from "./embeddedProcess.ts";
import type { ServiceProcess } from "./serviceProcess.ts";
import { until } from "./until.ts";

/** Settings of a service with two processes whose log shows which of them serve. */
export const twoProcesses = { POSTRIDER_PROCESSES: "2", LOG_LEVEL: "info" };

/** All running processes that the service has started, including the spare and the database's. */
export function childrenOf({ pid }: Pick<ServiceProcess, "pid">): number[] {
  return processes()
    .filter(({ parent }) => parent === pid)
    .map((child) => child.pid)
    .filter(isRunning);
}

/** The process group of the service: the processes that get the signals of a terminal. */
export function groupOf(service: Pick<ServiceProcess, "pid">): number[] {
  const all = processes();
  const group = all.find(({ pid }) => pid === service.pid)?.group;
  return [service.pid, ...childrenOf(service)].filter((pid) =>
    all.some((one) => one.pid === pid && one.group === group),
  );
}

function processes(): { pid: number; parent: number; group: number }[] {
  const { stdout } = spawnSync("ps", ["-A", "-o", "pid=,ppid=,pgid="], { encoding: "utf8" });
  return stdout.split("\n").map((line) => {
    const [pid, parent, group] = line.trim().split(/\s+/).map(Number);
    return { pid: pid!, parent: parent!, group: group! };
  });
}

/** The serving processes, in the order of their starts. */
export function servingOf(service: Pick<ServiceProcess, "output">): number[] {
  const begun = service.output().matchAll(/^\{.*"pid":(\d+),.*"msg":"started"\}$/gm);
  return [...begun].map(([, pid]) => Number(pid)).filter(isRunning);
}

/** Sends a signal to a process that may have ended. */
export function signal(pid: number, name: NodeJS.Signals): void {
  try {
    process.kill(pid, name);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "ESRCH") throw error;
  }
}

/** Waits until that many processes serve, and returns them. */
export function untilServing(service: Pick<ServiceProcess, "output">, count: number): Promise<number[]> {
  return until(
    () => servingOf(service),
    (pids) => pids.length === count,
  );
}

/** The sum of a metric's values with these labels, as returned by any of the service's processes. */
export async function metricOf({ url }: Pick<ServiceProcess, "url">, name: string): Promise<number> {
  const text = await (await fetch(`${url}/metrics`)).text();
  return sumIn(text, name);
}

/** The sum of a metric's values in a text of metrics. */
export function sumIn(text: string, name: string): number {
  const [metric, ...labels] = name.split(/[{,}]/).filter((part) => part !== "");
  const lines = text.split("\n").filter((line) => {
    return (
      line.startsWith(metric!) &&
      /^[ {]/.test(line.slice(metric!.length)) &&
      labels.every((label) => line.includes(label))
    );
  });
  return lines.reduce((sum, line) => sum + Number(line.slice(line.lastIndexOf(" "))), 0);
}
