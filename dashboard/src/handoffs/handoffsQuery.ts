import { queryOptions } from "@tanstack/react-query";
import { answer, client } from "../api/client.ts";
import { targetsQuery } from "../api/queries.ts";
import type { Handoff, ItemEvent, Target } from "../api/shapes.ts";
import { listItems } from "../items/listItems.ts";

/** An agent's item with its handoff; null before the handover. */
export interface HandedOver {
  event: ItemEvent;
  handoff: Handoff | null;
}

const mostPerAgent = 25;
const mostInState = 50;
/**
 * Targets older than this are read again, because an agent may be added while the page is open. A stream event refreshes them
 * at once.
 */
const targetsStaleMs = 10_000;

/** The latest handoffs of all agents, newest first; with `state`, only handoffs in that state. */
export function handoffsQuery(state?: string) {
  return queryOptions({
    queryKey: ["handoffs", "list", state ?? ""],
    queryFn: async ({ client: queries, signal }): Promise<HandedOver[]> => {
      const ids =
        state === undefined
          ? await latestOfAgents(await queries.query({ ...targetsQuery, staleTime: targetsStaleMs }), signal)
          : await latestInState(state, signal);
      const read = await Promise.all(ids.map((id) => readHandedOver(id, signal)));
      return read.toSorted((one, other) => (one.event.id < other.event.id ? 1 : -1));
    },
  });
}

async function latestOfAgents(targets: readonly Target[], signal: AbortSignal): Promise<string[]> {
  const agents = targets.filter(({ kind }) => kind === "a2a");
  const lists = await Promise.all(
    agents.map(({ id }) => listItems({ target: id }, { limit: mostPerAgent, signal })),
  );
  return lists.flat().map(({ id }) => id);
}

async function latestInState(state: string, signal: AbortSignal): Promise<string[]> {
  const query = { handoff_state: state, limit: mostInState };
  const { events } = await answer(client.GET("/api/v1/events", { params: { query }, signal }));
  return events.map(({ id }) => id);
}

async function readHandedOver(id: string, signal: AbortSignal): Promise<HandedOver> {
  const read = await answer(client.GET("/api/v1/events/{id}", { params: { path: { id } }, signal }));
  return { event: read.event, handoff: read.handoff ?? null };
}
