import { given } from "../api/client.ts";
import { Problem } from "../api/problem.ts";
import type { Search } from "../shell/useUrlState.ts";

/** The filter of the list of items. Each field is a query parameter of the URL. */
export interface ItemFilter {
  status?: string | undefined;
  target?: string | undefined;
  /** The uid of the customer to whom the targets belong. */
  customer?: string | undefined;
  type?: string | undefined;
  correlation?: string | undefined;
  /** The id of the replay job that created the item. */
  replay?: string | undefined;
  /** `1h`, `24h`, `7d`, `30d`, or two times in Unix seconds with a `-` between. */
  time?: string | undefined;
}

export const filterKeys = ["status", "target", "customer", "type", "correlation", "replay", "time"] as const;
export type FilterKey = (typeof filterKeys)[number];

const spans: Record<string, number> = { "1h": 3600, "24h": 86_400, "7d": 604_800, "30d": 2_592_000 };
export const spanNames = Object.keys(spans);

export function filterOf(search: Search): ItemFilter {
  const filter: ItemFilter = {};
  for (const key of filterKeys) if (search[key]) filter[key] = search[key];
  return filter;
}

export function isFiltered(filter: ItemFilter): boolean {
  return filterKeys.some((key) => filter[key] !== undefined);
}

/** From (inclusive) and to (exclusive) in Unix seconds. @throws {Problem} 400 for an invalid time. */
function timeRange(time: string | undefined, nowMs: number): { from?: number; to?: number } {
  if (time === undefined) return {};
  const span = spans[time];
  // Whole minutes, so that the same filter makes the same request for up to a minute.
  if (span !== undefined) return { from: Math.floor(nowMs / 60_000) * 60 - span };
  const range = /^(\d{9,11})-(\d{9,11})$/.exec(time);
  if (range === null)
    throw new Problem(
      400,
      `time must be ${spanNames.join(", ")}, or two times in Unix seconds with a - between`,
    );
  return { from: Number(range[1]), to: Number(range[2]) };
}

/** The filter in the names of the service's interface. */
export function eventsQuery(filter: ItemFilter, nowMs: number) {
  const { from, to } = timeRange(filter.time, nowMs);
  return given({
    status: filter.status,
    target_id: filter.target,
    customer_uid: filter.customer,
    event_type: filter.type,
    correlation_id: filter.correlation,
    replay_id: filter.replay,
    created_after: from,
    created_before: to,
  });
}
