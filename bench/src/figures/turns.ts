import { cpus } from "node:os";
import { setTimeout as delay } from "node:timers/promises";
import { runLoad } from "../load.ts";
import { usageOf } from "../usage.ts";
import { connections, host, received, turnMs } from "../workload.ts";
import { type Load, requestsTo } from "./load.ts";
import type { FiguresSize } from "./record.ts";
import type { Side } from "./sides.ts";

/** What a turn came to. */
export interface Turn {
  items: number;
  perSecond: number;
  p50Ms?: number;
  p99Ms?: number;
  lost: number;
}

/** The same with what it cost, per item, and the part of the processors that was idle. */
export interface CostedTurn extends Turn {
  nodeUs: number;
  postgresUs: number;
  walBytes: number;
  idle: number;
}

const deliveredWithinMs = 60_000;

/** As many items as are accepted within a turn. */
export async function intakeTurn(
  port: number,
  load: Pick<Load, "maxItems">,
  request: (n: number) => Buffer,
  { turnMs: durationMs }: Pick<FiguresSize, "turnMs">,
): Promise<Turn> {
  const run = { host, port, connections, durationMs, requests: load.maxItems, expect: 202, request };
  const { requests: items, perSecond, p50, p99, errors } = await runLoad(run);
  return { items, perSecond, p50Ms: p50, p99Ms: p99, lost: errors };
}

/** The same, until the last of them has been received: items a second over all of that time. */
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

/** Puts items in that wait, and measures nothing. */
export async function fillTurn({ service, held }: Side, load: Load, targets: number, items: number) {
  const request = requestsTo(service.key, held.slice(0, targets), load);
  const run = { host, port: service.port, connections, durationMs: 600_000, requests: items, expect: 202 };
  const { errors } = await runLoad({ ...run, request });
  if (errors > 0) throw new Error(`${errors} of ${items} items were refused`);
}

/** How fast the receiver is sent what waits. */
export async function drainTurn(receiverPort: number, turn: number, items: number): Promise<Turn> {
  return { items, perSecond: (items * 1_000) / (await turnMs(receiverPort, turn, items)), lost: 0 };
}

/** What a turn of a service cost. */
export async function costed(
  { service }: Pick<Side, "service">,
  turn: () => Promise<Turn>,
): Promise<CostedTurn> {
  const before = await usageOf(service);
  const startedAt = performance.now();
  const done = await turn();
  const after = await usageOf(service);
  const seconds = (performance.now() - startedAt) / 1_000;
  const each = (used: number): number => used / done.items;
  return {
    ...done,
    nodeUs: each((after.nodeSeconds - before.nodeSeconds) * 1e6),
    postgresUs: each((after.postgresSeconds - before.postgresSeconds) * 1e6),
    walBytes: each(after.walBytes - before.walBytes),
    idle: Math.min(1, (after.idleSeconds - before.idleSeconds) / seconds / cpus().length),
  };
}
