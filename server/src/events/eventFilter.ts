import { type RawBuilder, sql } from "kysely";
import type { EventScope } from "./store.ts";
import type { EventStatus } from "../items/eventStatuses.ts";

/** Which events a list asks for, and in which order. */
export interface EventFilter extends EventScope {
  /** An existing or deleted target of the organization. */
  targetId?: string | undefined;
  customerUid?: string | undefined;
  status?: EventStatus | undefined;
  correlationId?: string | undefined;
  eventType?: string | undefined;
  /** The state of the agent's task; where the agent made no task, the outcome of the handoff. */
  handoffState?: string | undefined;
  replayId?: string | undefined;
  /** Only events with ids between these two, both exclusive. */
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

/** SQL condition on a target `t`: the filter's, or one of its customer's or of the organization's. */
export function inScope({ orgId, targetId, customerUid }: EventFilter): RawBuilder<unknown> {
  if (targetId !== undefined) return sql`t.org_id = ${orgId} and t.id = ${targetId}`;
  if (customerUid !== undefined) return sql`t.org_id = ${orgId} and t.customer_uid = ${customerUid}`;
  return sql`t.org_id = ${orgId}`;
}

/** SQL conditions, each beginning with `and`, that restrict a column of ids to the filter's range. */
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

/** {@link ordered}, with the limit and the offset of the filter's page. */
export function pageBy(filter: EventFilter, column: RawBuilder<unknown>): RawBuilder<unknown> {
  return sql`${ordered(filter, column)} limit ${filter.limit} offset ${filter.offset}`;
}

/** The number of first events, in order, that a page can need from each of several sources. */
export function reach({ limit, offset }: EventFilter): number {
  return limit + offset;
}
