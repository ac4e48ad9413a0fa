import { type RawBuilder, sql } from "kysely";
import type { EventScope } from "./store.ts";
import type { EventStatus } from "../items/eventStatuses.ts";

/** Which events a list asks for, and in which order. */
export interface EventFilter extends EventScope {
  /** A target that belongs to the organization, or did. */
  targetId?: string | undefined;
  customerUid?: string | undefined;
  status?: EventStatus | undefined;
  correlationId?: string | undefined;
  eventType?: string | undefined;
  /** The state of the task that the item was handed over as, or the outcome where there was none. */
  handoffState?: string | undefined;
  replayId?: string | undefined;
  /** Only events whose ids lie between the two, without them. */
  above?: string | undefined;
  below?: string | undefined;
  order: "desc" | "asc";
  limit: number;
  offset: number;
}

export const conditionNames = [
  "targetId",
  "customerUid",
  "status",
  "correlationId",
  "eventType",
  "handoffState",
  "replayId",
] as const;

export type Condition = (typeof conditionNames)[number];

export type IdStatement = RawBuilder<{ id: string }>;

/** Restricts a column of ids to the filter's range, as further conditions. */
export function inRange({ above, below }: EventFilter, column: RawBuilder<unknown>): RawBuilder<unknown> {
  return sql`${beyond(above, sql`${column} >`)} ${beyond(below, sql`${column} <`)}`;
}

function beyond(bound: string | undefined, comparison: RawBuilder<unknown>): RawBuilder<unknown> {
  return bound === undefined ? sql`` : sql`and ${comparison} ${bound}`;
}

/** Sorts by a column of ids in the order of the filter. */
export function ordered({ order }: EventFilter, column: RawBuilder<unknown>): RawBuilder<unknown> {
  return order === "desc" ? sql`order by ${column} desc` : sql`order by ${column}`;
}

/** The same, and takes the filter's page. */
export function pageBy(filter: EventFilter, column: RawBuilder<unknown>): RawBuilder<unknown> {
  return sql`${ordered(filter, column)} limit ${filter.limit} offset ${filter.offset}`;
}

/** How many events in order a page needs at most from each of several places. */
export function reach({ limit, offset }: EventFilter): number {
  return limit + offset;
}
