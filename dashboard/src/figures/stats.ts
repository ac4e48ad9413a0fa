import { queryOptions } from "@tanstack/react-query";
import { answer, client, given } from "../api/client.ts";
import { serviceNowMs } from "../time/serviceClock.ts";

export const ranges = ["1h", "24h", "7d", "30d"] as const;
export type Range = (typeof ranges)[number];

const rangeSeconds: Record<Range, number> = { "1h": 3600, "24h": 86_400, "7d": 604_800, "30d": 2_592_000 };
/** Makes 24 to 168 bars. */
const stepSeconds: Record<Range, number> = { "1h": 60, "24h": 3600, "7d": 3600, "30d": 86_400 };

export function rangeOf(text: string | undefined): Range {
  return ranges.find((range) => range === text) ?? "24h";
}

/** Outcomes in a time range, of one target or of all. */
export function statsQuery(range: Range, targetId?: string) {
  return queryOptions({
    queryKey: ["stats", range, targetId ?? ""],
    queryFn: ({ signal }) => {
      const step = stepSeconds[range];
      const to = Math.ceil(serviceNowMs() / 1000 / step) * step;
      const query = given({ from: to - rangeSeconds[range], to, step, target_id: targetId });
      return answer(client.GET("/api/v1/stats", { params: { query }, signal }));
    },
    staleTime: 5000,
  });
}
