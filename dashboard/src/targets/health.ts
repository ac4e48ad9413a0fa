import { queryOptions } from "@tanstack/react-query";
import { answer, callJson, client } from "../api/client.ts";
import { Problem } from "../api/problem.ts";
import type { Target } from "../api/shapes.ts";

/** A target's health, as `GET /api/v1/targets/:id/health` returns it. */
export interface Health {
  target_id: string;
  enabled: boolean;
  disabled_reason: string | null;
  circuit: "closed" | "open" | "half_open";
  in_flight: number;
  due: number;
  due_is_exact: boolean;
  held?: number;
  oldest_due_at: number | null;
  oldest_due_seconds: number | null;
  success_rate_24h: number | null;
  failing_since: number | null;
  last_attempt_at: number | null;
  last_success_at: number | null;
}

/** Number of targets that a list shows at first, and that one request for health covers. */
export const mostListed = 100;

/** The health of targets with their last 24 hours, in one request for each {@link mostListed} of them. */
export function healthsQuery(ids: readonly string[]) {
  const pages = Array.from({ length: Math.ceil(ids.length / mostListed) }, (_, page) =>
    ids.slice(page * mostListed, (page + 1) * mostListed).join(","),
  );
  return queryOptions({
    queryKey: ["health", "list", ...ids],
    queryFn: async ({ signal }) => {
      const read = (page: string) =>
        answer(client.GET("/api/v1/target-health", { params: { query: { ids: page } }, signal }));
      return (await Promise.all(pages.map(read))).flatMap(({ targets }) => targets);
    },
  });
}

/** Whether a target fails: the service disabled it, or no attempt has succeeded since `failing_since`. */
export function isFailing(target: Pick<Target, "disabled_reason" | "failing_since">): boolean {
  return target.disabled_reason !== undefined || target.failing_since !== undefined;
}

/** A target's health; null from a service without this endpoint. */
export function healthQuery(id: string) {
  return queryOptions({
    queryKey: ["health", id],
    queryFn: async (): Promise<Health | null> => {
      try {
        return await callJson<Health>("GET", `api/v1/targets/${id}/health`);
      } catch (error) {
        if (error instanceof Problem && error.status === 404 && error.message === "not found") return null;
        throw error;
      }
    },
  });
}

/** Names and meanings of the circuit states, the same on every page. */
export const circuits: Record<Health["circuit"], { name: string; meaning: string }> = {
  closed: { name: "Closed", meaning: "attempts are made as they come due" },
  open: {
    name: "Open",
    meaning:
      "after repeated failures, attempts are paused; an occasional probe checks whether the receiver has recovered",
  },
  half_open: { name: "Half open", meaning: "the next attempt decides whether it closes" },
};

/** A count, with a plus sign if counting stopped there. */
export function counted(count: number, isExact: boolean | undefined): string {
  return `${count.toLocaleString("en")}${isExact === false && count > 0 ? "+" : ""}`;
}

export function percent(rate: number | null | undefined): string {
  if (rate === null || rate === undefined) return "–";
  // Rounded down, so that 99.96 % is not shown as 100 %.
  return `${(Math.floor(rate * 1000) / 10).toFixed(rate === 1 || rate === 0 ? 0 : 1)} %`;
}
