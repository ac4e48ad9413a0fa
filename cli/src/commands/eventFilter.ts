import type { Client } from "../../../sdk/src/client.ts";
import type { Input, Options } from "../command.ts";
import { targetId } from "./chooseTarget.ts";
import { UsageError } from "../exitCodes.ts";

export type EventFilter = Pick<
  NonNullable<Parameters<Client["listEvents"]>[0]>,
  "target_id" | "status" | "event_type" | "correlation_id" | "created_after" | "created_before"
>;
type Status = NonNullable<EventFilter["status"]>;

/** Statuses of items that can be replayed: items that wait or are in progress cannot. */
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
  target: { value: "TARGET", help: "only items of this target, by id or name" },
  status: { value: "STATUS", choices: statuses, help: "only items with this status" },
  "event-type": { value: "EVENT-TYPE", help: "only items of this event type" },
  "correlation-id": { value: "ID", help: "only items with this correlation id" },
  since: { value: "TIME", help: "only items accepted since this time, such as 15m, 2h, 3d or 2026-11-22" },
  until: { value: "TIME", help: "only items accepted before this time" },
};

/** Reads the filter from the options. Fields of options that are not given are left out. */
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

const units: Record<string, number> = { s: 1, m: 60, h: 3600, d: 86_400 };

/**
 * Reads a time: `15m`, `2h` or `3d` ago, Unix seconds, or a date such as 2026-11-22 or 2026-11-22T10:00:00Z.
 * @returns Unix seconds; undefined when the option is not given.
 * @throws {UsageError} for any other text.
 */
export function readTime(option: string, text: string | undefined, nowMs: number): number | undefined {
  if (text === undefined) return undefined;
  const [, amount, unit] = /^(\d{1,9})([smhd])$/.exec(text) ?? [];
  if (amount !== undefined) return Math.floor(nowMs / 1000) - Number(amount) * units[unit!]!;
  if (/^\d{9,11}$/.test(text)) return Number(text);
  const [date, day] = /^\d{4}-\d{2}-(\d{2})/.exec(text) ?? [];
  // `Date.parse` accepts days that do not exist: it reads 30 February as 2 March.
  const isDay = date !== undefined && new Date(Date.parse(date)).getUTCDate() === Number(day);
  const parsedMs = isDay ? Date.parse(text) : Number.NaN;
  if (!Number.isNaN(parsedMs)) return Math.floor(parsedMs / 1000);
  throw new UsageError(
    `--${option} must be a time such as 15m, 2h, 3d, 2026-11-22T10:00:00Z, or Unix seconds`,
  );
}
