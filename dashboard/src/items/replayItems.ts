import type { InfiniteData, QueryClient } from "@tanstack/react-query";
import { answer, client } from "../api/client.ts";
import type { Status } from "../api/shapes.ts";
import type { ItemRow } from "./listItems.ts";
import type { LatestReplay } from "./statuses.ts";

/** Sends one item once more, as an item of its own. @throws {Problem} */
export async function replayItem({
  id,
  isNewWebhookId = false,
}: {
  id: string;
  /** Under a webhook-id of its own, so that a receiver which deduplicates applies it again. */
  isNewWebhookId?: boolean;
}): Promise<LatestReplay> {
  const body = isNewWebhookId ? { webhook_id: "new" as const } : {};
  const made = await answer(client.POST("/api/v1/events/{id}/replay", { params: { path: { id } }, body }));
  return { id: made.id, status: made.status as Status };
}

/**
 * Reads again what shows items, and notes the replays at their sources, by their ids. A list of items reads only its first page
 * again: the other rows would look as if nobody had replayed them.
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

/** At most this many replays are asked for at a time. */
const atATime = 4;

export interface ReplayOutcome {
  /** By the id of their source. */
  replays: Map<string, LatestReplay>;
  failures: unknown[];
}

/** Replays the items one by one; one that is refused does not keep the others. */
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
