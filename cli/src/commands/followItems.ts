import { type Client, type EventSummary, PostriderError } from "../../../sdk/src/client.ts";
import { setTimeout as delay } from "node:timers/promises";
import type { EventFilter } from "./eventFilter.ts";

const pollMs = 1_000;
const pageSize = 100;
/**
 * How far back each look goes. Nodes make ids by their own clocks and commit them in any order, so that an older one may
 * appear after a newer one.
 */
const overlapSeconds = 15;

export interface Following {
  stop: AbortSignal;
  /** The time by the service's clock, once it has answered. */
  nowMs: () => number;
  /** The present items are known: all that are accepted from now on are shown. */
  onBegun: () => void;
  onProblem: (what: string) => void;
}

/** Events as they are accepted from now on, each once, also across an absence of the service; ends when `stop` does. */
export async function* followItems(
  client: Pick<Client, "listEvents">,
  filter: EventFilter,
  { stop, nowMs, onBegun, onProblem }: Following,
): AsyncGenerator<EventSummary, void> {
  const seen = new Map<string, number>();
  const recently = (): number => Math.floor(nowMs() / 1000) - overlapSeconds;
  // The answer says what time it is there.
  await client.listEvents({ ...filter, created_after: recently(), limit: 1 });
  const begun = recently();
  // Present items are not shown.
  for await (const event of look(client, { ...filter, created_after: begun }, seen)) void event;
  onBegun();
  let from = begun;
  while (!stop.aborted) {
    try {
      // The caller may take minutes for one item, in which others come.
      const next = recently();
      yield* look(client, { ...filter, created_after: from }, seen);
      from = Math.max(begun, next, oldestKept(seen, from));
    } catch (error) {
      if (!isPassing(error)) throw error;
      onProblem(`${error.message}; trying again`);
    }
    await delay(pollMs, undefined, { signal: stop }).catch(() => undefined);
  }
}

/** Whether the same call may succeed later: the service is away, or has too much to do. */
export function isPassing(error: unknown): error is PostriderError {
  if (!(error instanceof PostriderError)) return false;
  const { status } = error;
  return status === 0 || status === 408 || status === 429 || status >= 500;
}

async function* look(
  client: Pick<Client, "listEvents">,
  filter: EventFilter,
  seen: Map<string, number>,
): AsyncGenerator<EventSummary, void> {
  let after: string | undefined;
  for (;;) {
    const { events } = await client.listEvents({ ...filter, order: "asc", limit: pageSize, after });
    for (const event of events) {
      if (seen.has(event.id)) continue;
      seen.set(event.id, event.created_at);
      yield event;
    }
    if (events.length < pageSize) return;
    after = events.at(-1)!.id;
  }
}

/** Forgets what no later look can find; looks go on from where the last good one was. */
function oldestKept(seen: Map<string, number>, from: number): number {
  for (const [id, at] of seen) if (at < from - overlapSeconds) seen.delete(id);
  return from;
}
