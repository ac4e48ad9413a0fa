import type { Client } from "../../../sdk/src/client.ts";
import type { Input, Options } from "../command.ts";
import { readTime } from "../readTime.ts";
import { targetId } from "./chooseTarget.ts";

/** Which events are meant. */
export type EventFilter = Pick<
  NonNullable<Parameters<Client["listEvents"]>[0]>,
  "target_id" | "status" | "event_type" | "correlation_id" | "created_after" | "created_before"
>;
type Status = NonNullable<EventFilter["status"]>;

/** Waiting items, and those in progress, cannot be replayed. */
export const endedStatuses: readonly Status[] = [
  "DELIVERED",
  "FAILED",
  "FILTERED",
  "CANCELED",
  "ACKNOWLEDGED",
  "DEAD",
];
const statuses: readonly Status[] = ["QUEUED", "RETRYING", "UNREAD", "CLAIMED", "EXPIRED", ...endedStatuses];

export const filterOptions: Options = {
  target: { type: "string", value: "TARGET", help: "only items of this target, by id or name" },
  status: { type: "string", value: "STATUS", choices: statuses, help: "only items that stand so" },
  "event-type": { type: "string", value: "EVENT-TYPE", help: "only items of exactly this type" },
  "correlation-id": { type: "string", value: "ID", help: "only items with this one" },
  since: {
    type: "string",
    value: "TIME",
    help: "only items accepted since, such as 15m, 2h, 3d or 2026-11-22",
  },
  until: { type: "string", value: "TIME", help: "only items accepted before" },
};

/** The filter that the options come to; undefined members are left out. */
export async function readFilter(client: Pick<Client, "listTargets">, input: Input): Promise<EventFilter> {
  const nowMs = Date.now();
  const target = input.text("target");
  const filter = {
    target_id: target === undefined ? undefined : await targetId(client, target),
    status: input.text("status") as EventFilter["status"],
    event_type: input.text("event-type"),
    correlation_id: input.text("correlation-id"),
    created_after: readTime("since", input.text("since"), nowMs),
    created_before: readTime("until", input.text("until"), nowMs),
  };
  return Object.fromEntries(Object.entries(filter).filter(([, value]) => value !== undefined));
}
