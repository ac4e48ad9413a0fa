import { queryOptions } from "@tanstack/react-query";
import { answer, client } from "./client.ts";
import type { Target } from "./shapes.ts";

/** Queries that several pages use, with their cache keys. */
export const targetsQuery = queryOptions({
  queryKey: ["targets"],
  queryFn: async ({ signal }) => (await answer(client.GET("/api/v1/targets", { signal }))).targets,
});

export const organizationQuery = queryOptions({
  queryKey: ["organization"],
  queryFn: async ({ signal }) => (await answer(client.GET("/api/v1/orgs", { signal }))).org,
  staleTime: 60_000,
});

export const billingQuery = queryOptions({
  queryKey: ["billing"],
  queryFn: ({ signal }) => answer(client.GET("/api/v1/billing", { signal })),
});

export const keysQuery = queryOptions({
  queryKey: ["keys"],
  queryFn: async ({ signal }) => (await answer(client.GET("/api/v1/keys", { signal }))).keys,
});

export function targetQuery(id: string) {
  return queryOptions({
    queryKey: ["targets", id],
    queryFn: ({ signal }) => answer(client.GET("/api/v1/targets/{id}", { params: { path: { id } }, signal })),
  });
}

export function itemQuery(id: string) {
  return queryOptions({
    queryKey: ["items", "one", id],
    queryFn: ({ signal }) => answer(client.GET("/api/v1/events/{id}", { params: { path: { id } }, signal })),
  });
}

/** The target's name, or the beginning of its id if the target is not in the list. */
export function targetName(targets: readonly Target[] | undefined, id: string): string {
  return targets?.find((target) => target.id === id)?.name ?? `${id.slice(0, 8)}…`;
}
