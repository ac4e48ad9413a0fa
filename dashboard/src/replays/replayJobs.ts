import { answer, client, given } from "../api/client.ts";
import type { DryRun, ReplayJob } from "../api/shapes.ts";
import { eventsQuery, type ItemFilter } from "../items/filter.ts";
import { serviceNowMs } from "../time/serviceClock.ts";

/** Options of a replay job. */
export interface ReplayOptions {
  ratePerSecond: number;
  /** Includes failed items whose replay is in progress or succeeded. */
  includeReplayed: boolean;
  /** Gives each replay a new webhook-id. */
  isNewWebhookId: boolean;
}

/** Default number of replays per second. */
export const usualRate = 50;
export const highestRate = 1000;

/** Final statuses that can be replayed. */
const replayable: readonly string[] = ["DELIVERED", "FAILED", "FILTERED", "CANCELED", "ACKNOWLEDGED", "DEAD"];

/** Why no replay job can have this filter, as a sentence; undefined if one can. */
export function refusalOf(filter: ItemFilter): string | undefined {
  if (filter.status !== undefined && !replayable.includes(filter.status))
    return `Items with the status ${filter.status} cannot be replayed: choose a final status.`;
  if (filter.replay !== undefined) return "Remove the replay from the filter to replay all matching items.";
  if (filter.customer !== undefined)
    return "Remove the customer from the filter to replay all matching items.";
  return undefined;
}

/** Counts the items that a replay job with this filter would replay. @throws {Problem} */
export async function countMatching(filter: ItemFilter, includeReplayed: boolean): Promise<DryRun> {
  const body = { filter: replayFilter(filter), include_replayed: includeReplayed, dry_run: true };
  return (await answer(client.POST("/api/v1/replays", { body }))) as DryRun;
}

/** @throws {Problem} */
export async function startReplay(
  filter: ItemFilter,
  { ratePerSecond, includeReplayed, isNewWebhookId }: ReplayOptions,
): Promise<ReplayJob> {
  const body = {
    filter: replayFilter(filter),
    rate_per_second: ratePerSecond,
    include_replayed: includeReplayed,
    ...(isNewWebhookId && { webhook_id: "new" as const }),
  };
  return (await answer(client.POST("/api/v1/replays", { body }))) as ReplayJob;
}

export const replayPage = 50;

/** A page of replay jobs, newest first; `before` is the last id of the previous page. @throws {Problem} */
export async function listReplays(before: string | undefined, signal: AbortSignal): Promise<ReplayJob[]> {
  const query = given({ limit: replayPage, before });
  return (await answer(client.GET("/api/v1/replays", { params: { query }, signal }))).replays;
}

/** @throws {Problem} */
export async function readReplay(id: string, signal: AbortSignal): Promise<ReplayJob> {
  return answer(client.GET("/api/v1/replays/{id}", { params: { path: { id } }, signal }));
}

/** @throws {Problem} 409 when the job has ended. */
export async function cancelReplay(id: string): Promise<ReplayJob> {
  return answer(client.POST("/api/v1/replays/{id}/cancel", { params: { path: { id } } }));
}

/** The filter of the list of items as a replay's filter; the service refuses fields that a replay does not support. */
function replayFilter(filter: ItemFilter) {
  return eventsQuery(filter, serviceNowMs()) as object;
}
