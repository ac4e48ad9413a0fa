import { queryOptions } from "@tanstack/react-query";
import { answer, client } from "../api/client.ts";
import { targetsQuery } from "../api/queries.ts";
import type { EventSummary } from "../api/shapes.ts";

export const mostPerAgent = 25;
export const mostInState = 50;
/**
 * Targets older than this are read again, because an agent may be added while the page is open. A stream event refreshes them
 * at once.
 */
const targetsStaleMs = 10_000;

/**
 * The latest items of all agents with their handoffs, newest first; with `state`, only handoffs in that state. The data has a
 * page for each request, so that lists of many agents are read again less often.
 */
export function handoffsQuery(state?: string) {
  return queryOptions({
    queryKey: ["handoffs", "list", state ?? ""],
    queryFn: async ({ client: queries, signal }): Promise<{ pages: EventSummary[][] }> => {
      const list = async (query: ListQuery): Promise<EventSummary[]> => {
        const params = { query: { ...query, fields: "handoff" } };
        return (await answer(client.GET("/api/v1/events", { params, signal }))).events;
      };
      if (state !== undefined) return { pages: [await list({ handoff_state: state, limit: mostInState })] };
      const targets = await queries.query({ ...targetsQuery, staleTime: targetsStaleMs });
      const agents = targets.filter(({ kind }) => kind === "a2a");
      const pages = await Promise.all(agents.map(({ id }) => list({ target_id: id, limit: mostPerAgent })));
      return { pages };
    },
    select: ({ pages }) => pages.flat().toSorted((one, other) => (one.id < other.id ? 1 : -1)),
  });
}

interface ListQuery {
  handoff_state?: string;
  target_id?: string;
  limit: number;
}
