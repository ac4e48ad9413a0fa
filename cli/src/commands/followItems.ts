import { type Client, type EventSummary, PostriderError } from "../../../sdk/src/client.ts";
import { setTimeout as delay } from "node:timers/promises";
import type { EventFilter } from "./eventFilter.ts";

const pollMs = 1_000;
const pageSize = 100;
/**
 * Each poll lists items from this long before the previous poll began. Nodes create ids by their own clocks and commit in any
 * order, so that an item can become visible after one with a newer id.
 */
const overlapSeconds = 15;

export interface Following {
  stop: AbortSignal;
  /** The present by the service's clock, as far as its last answer told it. */
  nowMs: () => number;
  /** Called once the existing items have been read: every item accepted from then on is yielded. */
  onBegun: () => void;
  onProblem: (what: string) => void;
}

/** Yields each event accepted from now on, once, until `stop` aborts. While the service is unavailable, it polls again. */
export async function* followItems(
  client: Pick<Client, "listEvents">,
  filter: EventFilter,
  { stop, nowMs, onBegun, onProblem }: Following,
): AsyncGenerator<EventSummary, void> {
  const seen = new Map<string, number>();
  const recently = (): number => Math.floor(nowMs() / 1000) - overlapSeconds;
  // Called for the answer's Date header, from which `nowMs` learns the service's clock.
  await client.listEvents({ ...filter, created_after: recently(), limit: 1 });
  const begun = recently();
  // Marks the existing items as seen.
  for await (const event of look(client, { ...filter, created_after: begun }, seen)) void event;
  onBegun();
  let from = begun;
  while (!stop.aborted) {
    try {
      // Computed before the items are yielded: the caller may take minutes for one, and meanwhile new items are accepted.
      const next = recently();
      yield* look(client, { ...filter, created_after: from }, seen);
      forgetBefore(from - overlapSeconds, seen);
      from = Math.max(from, next);
    } catch (error) {
      if (!isPassing(error)) throw error;
      onProblem(`${error.message}; trying again`);
    }
    await delay(pollMs, undefined, { signal: stop }).catch(() => undefined);
  }
}

/** Whether the same call may succeed later: the service is unavailable or overloaded. */
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

/** Removes seen ids that are too old for a later poll to list. */
function forgetBefore(oldest: number, seen: Map<string, number>): void {
  for (const [id, at] of seen) if (at < oldest) seen.delete(id);
}
