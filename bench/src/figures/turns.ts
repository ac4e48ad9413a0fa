import { setTimeout as delay } from "node:timers/promises";
import { runLoad } from "../load.ts";
import { type MachineTime, usageOf } from "../usage.ts";
import { connections, host, received, turnOf } from "../workload.ts";
import { type Load, requestsTo } from "./load.ts";
import type { FiguresSize, ItemCost, MachineParts } from "./record.ts";
import type { Side } from "./sides.ts";

export interface Turn {
  items: number;
  perSecond: number;
  p50Ms?: number;
  p99Ms?: number;
  lost: number;
}

export interface CostedTurn extends Turn, ItemCost, MachineParts {}

const deliveredWithinMs = 60_000;

/** Posts items in a closed loop for the length of a turn. */
export async function intakeTurn(
  port: number,
  load: Pick<Load, "maxItems">,
  request: (n: number) => Buffer,
  { turnMs: durationMs }: Pick<FiguresSize, "turnMs">,
): Promise<Turn> {
  const run = { host, port, connections, durationMs, requests: load.maxItems, expect: 202, request };
  const { requests: items, perSecond, p50, p99, errors } = await runLoad({ ...run, countsRefusals: true });
  return { items, perSecond, p50Ms: p50, p99Ms: p99, lost: errors };
}

/** Posts items in a closed loop, then waits until the last one is received. The rate is over the whole time. */
export async function inAndOutTurn(
  port: number,
  receiverPort: number,
  {
    load,
    request,
    size,
  }: { load: Pick<Load, "maxItems">; request: (n: number) => Buffer; size: Pick<FiguresSize, "turnMs"> },
): Promise<Turn> {
  const before = await received(receiverPort);
  const startedAt = performance.now();
  const { items, lost: refused } = await intakeTurn(port, load, request, size);
  let arrived = 0;
  while (performance.now() - startedAt < deliveredWithinMs) {
    arrived = (await received(receiverPort)) - before;
    if (arrived >= items) break;
    await delay(5);
  }
  const seconds = (performance.now() - startedAt) / 1_000;
  return { items, perSecond: items / seconds, lost: refused + Math.max(0, items - arrived) };
}

/** Posts items to the held targets, where they wait for the side's turn. This is not measured. */
export async function fillTurn({ service, held }: Side, load: Load, targets: number, items: number) {
  const request = requestsTo(service.key, held.slice(0, targets), load);
  const run = { host, port: service.port, connections, durationMs: 600_000, requests: items, expect: 202 };
  await runLoad({ ...run, request });
}

/** Delivers the waiting items. Requests that the receiver already held when the turn began do not count. */
export async function drainTurn(receiverPort: number, turn: number, count: number): Promise<Turn> {
  const { ms, waiting } = await turnOf(receiverPort, turn, count);
  const items = Math.max(1, count - waiting);
  return { items, perSecond: (items * 1_000) / ms, lost: 0 };
}

/** Runs a turn of a service and measures its cost. */
export async function costed(
  { service }: Pick<Side, "service">,
  turn: () => Promise<Turn>,
): Promise<CostedTurn> {
  const before = await usageOf(service);
  const done = await turn();
  const after = await usageOf(service);
  const each = (used: number): number => used / done.items;
  return {
    ...done,
    nodeUs: each((after.nodeSeconds - before.nodeSeconds) * 1e6),
    postgresUs: each((after.postgresSeconds - before.postgresSeconds) * 1e6),
    walBytes: each(after.walBytes - before.walBytes),
    ...partsOf(before.machine, after.machine),
  };
}

function partsOf(before: MachineTime, after: MachineTime): MachineParts {
  const total = after.total - before.total;
  const part = (kind: keyof MachineTime): number => (after[kind] - before[kind]) / total;
  return { idle: part("idle"), diskWait: part("diskWait"), stolen: part("stolen") };
}
