import { queryOptions } from "@tanstack/react-query";
import { answer, client } from "../api/client.ts";
import type { Health, Target } from "../api/shapes.ts";

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

/** The health of a target whose items are sent. */
export function healthQuery(id: string) {
  return queryOptions({
    queryKey: ["health", id],
    queryFn: ({ signal }) =>
      answer(
        client.GET("/api/v1/targets/{id}/health", { params: { path: { id } }, signal }),
      ) as Promise<Health>,
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
