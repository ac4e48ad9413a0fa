import { answer, client } from "../api/client.ts";

/** Sends one item once more, as an item of its own. @throws {Problem} */
export async function replayItem({
  id,
  isNewWebhookId = false,
}: {
  id: string;
  /** Under a webhook-id of its own, so that a receiver which deduplicates applies it again. */
  isNewWebhookId?: boolean;
}): Promise<string> {
  const body = isNewWebhookId ? { webhook_id: "new" as const } : {};
  return (await answer(client.POST("/api/v1/events/{id}/replay", { params: { path: { id } }, body }))).id;
}

/** At most this many replays are asked for at a time. */
const atATime = 4;

export interface ReplayOutcome {
  replayed: number;
  failures: unknown[];
}

/** Replays the items one by one; one that is refused does not keep the others. */
export async function replayItems(ids: readonly string[]): Promise<ReplayOutcome> {
  const outcome: ReplayOutcome = { replayed: 0, failures: [] };
  const queue = [...ids];
  async function work(): Promise<void> {
    for (let id = queue.pop(); id !== undefined; id = queue.pop()) {
      try {
        await replayItem({ id });
        outcome.replayed += 1;
      } catch (error) {
        outcome.failures.push(error);
      }
    }
  }
  await Promise.all(Array.from({ length: atATime }, work));
  return outcome;
}
