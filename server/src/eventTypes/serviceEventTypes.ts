import { operationalEventTypes } from "../notifications/eventTypes.ts";

/** The types of items that the service makes by itself: what it tells of targets and items, and how tasks of agents ended. */
export const serviceEventTypes: readonly string[] = [
  ...operationalEventTypes,
  "handoff.completed",
  "handoff.failed",
  "handoff.canceled",
  "handoff.rejected",
  "handoff.unknown",
];
