import type { InfiniteData, QueryClient } from "@tanstack/react-query";
import { answer, client } from "../api/client.ts";
import type { Status } from "../api/shapes.ts";
import type { ItemRow } from "./listItems.ts";
import type { LatestReplay } from "./statuses.ts";

/** Replays one item as a new item. @throws {Problem} */
export async function replayItem({
  id,
  isNewWebhookId = false,
}: {
  id: string;
  /** Gives the replay a new webhook-id, so that a receiver which deduplicates applies it again. */
  isNewWebhookId?: boolean;
}): Promise<LatestReplay> {
  const body = isNewWebhookId ? { webhook_id: "new" as const } : {};
  const made = await answer(client.POST("/api/v1/events/{id}/replay", { params: { path: { id } }, body }));
  return { id: made.id, status: made.status as Status };
}

/**
 * Refreshes the queries of items, and enters each replay in the cached row of its source item, found by id. A list of items
 * refreshes only its first page: without the entry, other rows would not show their replay.
 */
export function noteReplays(queries: QueryClient, replays: ReadonlyMap<string, LatestReplay>): void {
  void queries.invalidateQueries({ queryKey: ["items"] });
  const noted = (row: ItemRow): ItemRow => ({
    ...row,
    replayed_by: replays.get(row.id) ?? row.replayed_by ?? null,
  });
  queries.setQueriesData<InfiniteData<ItemRow[]>>(
    { queryKey: ["itemList"] },
    (list) => list && { ...list, pages: list.pages.map((page) => page.map(noted)) },
  );
}

/** Largest number of replay requests in flight. */
const atATime = 4;

export interface ReplayOutcome {
  /** Keyed by the id of the source item. */
  replays: Map<string, LatestReplay>;
  failures: unknown[];
}

/** Replays the items, each with a request of its own. A refused replay does not stop the others. */
export async function replayItems(ids: readonly string[]): Promise<ReplayOutcome> {
  const outcome: ReplayOutcome = { replays: new Map(), failures: [] };
  const queue = [...ids];
  async function work(): Promise<void> {
    for (let id = queue.pop(); id !== undefined; id = queue.pop()) {
      try {
        outcome.replays.set(id, await replayItem({ id }));
      } catch (error) {
        outcome.failures.push(error);
      }
    }
  }
  await Promise.all(Array.from({ length: atATime }, work));
  return outcome;
}
