import { answer, client, given } from "../api/client.ts";
import type { ReplayJob } from "../api/shapes.ts";
import { eventsQuery, type ItemFilter } from "../items/filter.ts";
import { serviceNowMs } from "../time/serviceClock.ts";

export interface Matching {
  count: number;
  count_is_exact: boolean;
}

/** How a replay of many items is made. */
export interface ReplayOptions {
  ratePerSecond: number;
  /** Also the failures that have a replay which is under way or went through. */
  includeReplayed: boolean;
  /** Each under a webhook-id of its own. */
  isNewWebhookId: boolean;
}

/** How many are replayed a second unless somebody says otherwise. */
export const usualRate = 50;
export const highestRate = 1000;

/** Final statuses that can be replayed. */
const replayable: readonly string[] = ["DELIVERED", "FAILED", "FILTERED", "CANCELED", "ACKNOWLEDGED", "DEAD"];

/** Why no replay can have this filter, as a sentence; nothing where one can. */
export function refusalOf(filter: ItemFilter): string | undefined {
  if (filter.status !== undefined && !replayable.includes(filter.status))
    return `Items that are ${filter.status} are not replayed: only what has ended is.`;
  if (filter.replay !== undefined) return "Take the replay out of the filter to replay all that match.";
  if (filter.customer !== undefined) return "Take the customer out of the filter to replay all that match.";
  return undefined;
}

/** How many items a replay of this filter would send. @throws {Problem} */
export async function countMatching(filter: ItemFilter, includeReplayed: boolean): Promise<Matching> {
  const body = { filter: replayFilter(filter), include_replayed: includeReplayed, dry_run: true };
  return (await answer(client.POST("/api/v1/replays", { body }))) as Matching;
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

/** A page of replays, newest first. @throws {Problem} */
export async function listReplays(before: string | undefined, signal: AbortSignal): Promise<ReplayJob[]> {
  const query = given({ limit: replayPage, before });
  return (await answer(client.GET("/api/v1/replays", { params: { query }, signal }))).replays;
}

/** @throws {Problem} */
export async function readReplay(id: string, signal: AbortSignal): Promise<ReplayJob> {
  return answer(client.GET("/api/v1/replays/{id}", { params: { path: { id } }, signal }));
}

/** @throws {Problem} 409 when it is done. */
export async function cancelReplay(id: string): Promise<ReplayJob> {
  return answer(client.POST("/api/v1/replays/{id}/cancel", { params: { path: { id } } }));
}

/** A filter of the page; the service refuses what a replay cannot be narrowed to. */
function replayFilter(filter: ItemFilter) {
  return eventsQuery(filter, serviceNowMs()) as object;
}
