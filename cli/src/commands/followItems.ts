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
  /** The present items are known: all that are accepted from now on are shown. */
  onBegun: () => void;
  onProblem: (what: string) => void;
}

/** Events as they are accepted from now on, each once, also across an absence of the service; ends when `stop` does. */
export async function* followItems(
  client: Pick<Client, "listEvents">,
  filter: EventFilter,
  { stop, onBegun, onProblem }: Following,
): AsyncGenerator<EventSummary, void> {
  const seen = new Map<string, number>();
  const begun = await newest(client, filter, seen);
  onBegun();
  let from = begun;
  while (!stop.aborted) {
    try {
      yield* look(client, { ...filter, created_after: from }, seen);
      from = Math.max(begun, Math.floor(Date.now() / 1000) - overlapSeconds, oldestKept(seen, from));
    } catch (error) {
      if (!(error instanceof PostriderError) || (error.status !== 0 && error.status < 500)) throw error;
      onProblem(`${error.message}; trying again`);
    }
    await delay(pollMs, undefined, { signal: stop }).catch(() => undefined);
  }
}

/** Present items are not shown. */
async function newest(
  client: Pick<Client, "listEvents">,
  filter: EventFilter,
  seen: Map<string, number>,
): Promise<number> {
  const from = Math.floor(Date.now() / 1000) - overlapSeconds;
  for await (const event of look(client, { ...filter, created_after: from }, seen)) void event;
  return from;
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
