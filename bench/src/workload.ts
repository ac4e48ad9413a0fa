import { randomBytes } from "node:crypto";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { BenchService } from "./benchService.ts";
import type { Slice } from "./figures.ts";
import { type LoadResult, postBytes, runLoad } from "./load.ts";
import { removeWithThis } from "./processes.ts";
import type { TurnTaken } from "./turns.ts";

export const host = "127.0.0.1";
export const connections = 64;
/** About 500 bytes, as the figures say. */
export const itemBody = JSON.stringify({ event_type: "order.created", data: "x".repeat(440) });

/** Posts in a closed loop over 64 connections. */
export function closedLoop(port: number, slice: Slice, request: (n: number) => Buffer): Promise<LoadResult> {
  return runLoad({ host, port, connections, ...slice, expect: 202, request });
}

/** Returns a function that returns the same request each time. */
export function fixedItem({ key }: Pick<BenchService, "key">, target: string): () => Buffer {
  const bytes = postBytes(`/t/${target}`, [`authorization: Bearer ${key}`], itemBody);
  return () => bytes;
}

/** Returns a function that returns requests with a new idempotency key each. */
export function keyedItem(service: BenchService, target: string): () => Buffer {
  const run = randomBytes(6).toString("hex");
  const authorization = `authorization: Bearer ${service.key}`;
  let n = 0;
  return () => postBytes(`/t/${target}`, [authorization, `idempotency-key: ${run}-${n++}`], itemBody);
}

/** Posts at least `count` items, to several targets in turn. */
export async function fill(
  service: BenchService,
  targets: string | readonly string[],
  count: number,
): Promise<void> {
  const posts = [targets].flat().map((target) => fixedItem(service, target)());
  const request = (n: number): Buffer => posts[n % posts.length]!;
  const run = { host, port: service.port, connections, durationMs: 600_000, requests: count, request };
  await runLoad({ ...run, expect: 202 });
}

/**
 * Runs `work` with a folder that is removed afterwards. If the work fails, or the benchmark is stopped, processes may still write
 * to the folder, so it is removed when this process ends.
 */
export async function inTemporaryDirectory<T>(work: (dataDir: string) => Promise<T>): Promise<T> {
  const dataDir = await mkdtemp(join(tmpdir(), "postrider-bench-"));
  removeWithThis(dataDir);
  const result = await work(dataDir);
  await rm(dataDir, { recursive: true, force: true });
  return result;
}

/** Reads JSON from one of the benchmark's programs. */
export async function ask<T>(port: number, path: string, timeoutMs = 10_000): Promise<T> {
  const signal = AbortSignal.timeout(timeoutMs);
  return (await (await fetch(`http://${host}:${port}${path}`, { signal })).json()) as T;
}

/** The number of deliveries that the receiver got. */
export async function received(port: number): Promise<number> {
  return (await ask<{ count: number }>(port, "/count")).count;
}

/** Lets the receiver answer `count` requests of a side; resolves with the milliseconds that this took. */
export async function turnMs(port: number, side: number, count: number): Promise<number> {
  return (await turnOf(port, side, count)).ms;
}

/** Does the same as {@link turnMs}, and also resolves with the number of requests that were waiting at the start. */
export function turnOf(port: number, side: number, count: number): Promise<TurnTaken> {
  return ask(port, `/turn/${side}/${count}`, 120_000);
}
